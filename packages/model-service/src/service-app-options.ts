import { createIdentityVerifier } from '@gateway/service-kit/identity-token';
import { createLoadGuard } from '@gateway/service-kit/load/load-guard';
import { createRequestLog } from '@gateway/service-kit/request-log';
import type { ServiceAppOptions } from '@gateway/service-kit/service-app';
import type { Started } from '@gateway/service-kit/start-service';
import { createTolerantClock } from '@gateway/service-kit/tolerant-clock';
import type { ModelServiceSettings } from './settings.ts';

/** What every service's app is made with, beside its own handlers. */
export const serviceAppOptions = ({
  config,
  life,
  logger,
  metrics,
  processLoad,
}: Started<ModelServiceSettings>): Omit<ServiceAppOptions, 'service' | 'handlers'> => ({
  readiness: life.readiness,
  metrics,
  requestLog: createRequestLog({ logger, metrics }),
  verifyIdentity: createIdentityVerifier({
    secret: config.GATEWAY_SECRET,
    now: createTolerantClock({ now: Date.now, uptime: () => performance.now() }),
  }),
  deadline: life.deadline,
  load: createLoadGuard({ settings: config, process: processLoad, metrics }),
});
