import { AdminConfig } from '@gateway/admin/config';
import { AudioSettings, AudioWorkerSettings } from '@gateway/audio/config';
import { EdgeSettings } from '@gateway/edge/config';
import { ImageSettings } from '@gateway/image/config';
import { setting } from '@gateway/service-kit/config';
import { TextSettings } from '@gateway/text/config';
import { z } from 'zod';

/** What the edge, the services and admin read, in one process. Settings of the same name mean the same to all of them. */
export const GatewayConfig = z.object({
  ...EdgeSettings.shape,
  ...TextSettings.shape,
  ...ImageSettings.shape,
  ...AudioSettings.shape,
  ...AdminConfig.shape,
  /** The address that admin listens on. `HOST` is the edge's, which others may reach. */
  ADMIN_HOST: z.string().default('127.0.0.1'),
});

/** What the workers read, in one process. */
export const WorkersConfig = AudioWorkerSettings.extend({
  /** For `/healthz`, `/readyz` and `/metrics`; 0 lets the system choose. */
  WORKER_METRICS_PORT: setting.port(0),
});
