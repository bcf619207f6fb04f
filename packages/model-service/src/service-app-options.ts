import { createIdentityVerifier } from '@gateway/service-kit/identity/identity-token';
import { createTolerantClock } from '@gateway/service-kit/identity/tolerant-clock';
import { createLoadGuard } from '@gateway/service-kit/load/load-guard';
import { createRequestLog } from '@gateway/service-kit/request/request-log';
import type { ServiceAppOptions } from '@gateway/service-kit/service-app';
import type { Started } from '@gateway/service-kit/start-service';
import type { ModelAccess } from './open-model-access.ts';
import type { ModelServiceSettings } from './settings.ts';

/** What every service's app is made with, beside its own handlers. */
export const serviceAppOptions = (
  { config, life, logger, metrics, processLoad, tracing }: Started<ModelServiceSettings>,
  { refusals }: Pick<ModelAccess, 'refusals'>,
): Omit<ServiceAppOptions, 'service' | 'handlers'> => ({
  readiness: life.readiness,
  metrics,
  requestLog: createRequestLog({ logger, metrics }),
  tracing,
  verifyIdentity: createIdentityVerifier({
    secret: config.GATEWAY_SECRET,
    now: createTolerantClock({ now: Date.now, uptime: () => performance.now() }),
  }),
  deadline: life.deadline,
  load: createLoadGuard({
    settings: config,
    process: processLoad,
    metrics,
    onShed: (identity, endpoint) => refusals.add('overloaded', identity, endpoint),
  }),
});
