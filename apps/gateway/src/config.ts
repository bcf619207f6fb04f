import { AdminConfig } from '@gateway/admin/config';
import { AudioSettings, AudioWorkerSettings } from '@gateway/audio/config';
import { EdgeSettings } from '@gateway/edge/config';
import { ImageSettings } from '@gateway/image/config';
import { RetrievalSettings } from '@gateway/retrieval/config';
import { setting } from '@gateway/service-kit/config';
import { TextSettings, TextWorkerSettings } from '@gateway/text/config';
import { z } from 'zod';

/** The settings of the edge, the services and admin in one process. A setting has the same meaning for all of them. */
export const GatewayConfig = z.object({
  ...EdgeSettings.shape,
  ...TextSettings.shape,
  ...ImageSettings.shape,
  ...AudioSettings.shape,
  ...RetrievalSettings.shape,
  ...AdminConfig.shape,
  /** The address that admin listens on. `HOST` is the edge's, which other machines may reach. */
  ADMIN_HOST: z.string().default('127.0.0.1'),
});
export type GatewayConfig = z.infer<typeof GatewayConfig>;

/** The settings of the workers in one process. */
export const WorkersConfig = AudioWorkerSettings.extend({
  // It needs the secret that the others can do without.
  ...TextWorkerSettings.shape,
  /** For `/healthz`, `/readyz` and `/metrics`; 0 lets the system choose. */
  WORKER_METRICS_PORT: setting.port(0),
});
