import { reportOnce } from '@gateway/metering/broken-records';
import { createKeyCache } from '@gateway/metering/keys/key-cache';
import { createKeyStore } from '@gateway/metering/keys/key-store';
import { createAdmission } from '@gateway/metering/limits/admission';
import { createRequestRedis } from '@gateway/metering/request-redis';
import { createRefusalCounts } from '@gateway/metering/usage/refusal-counts';
import { connectRedis } from '@gateway/service-kit/connect-redis';
import { createRequestLog } from '@gateway/service-kit/request-log';
import type { Started } from '@gateway/service-kit/start-service';
import { createEdgeApp } from './app.ts';
import type { EdgeSettings } from './config.ts';
import { createCrossOrigin } from './cross-origin.ts';
import { createEdgeContexts } from './edge-context.ts';
import { configureEdgeServer, edgeServerOptions } from './edge-server.ts';
import type { Forwarder } from './forwarder.ts';
import { createGateway, type Seal } from './gateway.ts';
import { createMetricsApp } from './metrics-app.ts';
import { createOwnKey } from './own-key.ts';
import { createRefusals } from './refusals.ts';
import { createRequestLimits } from './request-limits.ts';

/** The watches of every request, for services in any process. */
export const limitsOf = ({ config, life }: Started<EdgeSettings>) => ({
  timeoutMs: config.EDGE_SERVICE_TIMEOUT_MS,
  body: {
    idleMs: config.EDGE_BODY_IDLE_TIMEOUT_MS,
    minBytesPerSecond: config.EDGE_BODY_MIN_BYTES_PER_SECOND,
  },
  deadline: life.deadline,
});

/** Makes the edge with one kind of connection to its services, and listens. */
export async function listenEdge(
  { config, life, logger, metrics, page }: Started<EdgeSettings>,
  opened: Forwarder,
  seal: Seal | null,
): Promise<void> {
  const now = Date.now;
  const { readiness, deadline } = life;
  const forwarder = life.own(opened, (owned) => owned.close());
  const redis = life.own(createRequestRedis(config.REDIS_URL), (owned) => owned.disconnect());
  const onBroken = reportOnce((broken) => {
    logger.warn(broken, 'a stored record cannot be read and is left out');
    metrics.brokenRecord(broken.kind);
  });
  const keys = createKeyStore({ redis, gatewaySecret: config.GATEWAY_SECRET, now, onBroken });
  const bootstrapKey = config.GATEWAY_BOOTSTRAP_KEY;
  const prepare = bootstrapKey === undefined ? undefined : () => keys.ensureBootstrapKey(bootstrapKey);
  await connectRedis(redis, { logger, readiness, prepare });

  const admission = life.own(createAdmission({ redis }), (owned) => owned.close());
  const keepSumsDays = config.USAGE_SUMS_DAYS;
  const counts = life.own(createRefusalCounts({ redis, now, keepSumsDays }), (owned) => owned.close());
  const refusals = createRefusals({ counts, metrics });
  const contexts = createEdgeContexts({ requestLog: createRequestLog({ logger, metrics }), deadline });
  const gateway = createGateway({
    contexts,
    identify: createKeyCache({ findKey: keys.findKey, now }).identify,
    seal,
    limits: createRequestLimits({ admission, refusals, now }),
    refusals,
    ownKey: createOwnKey({ redis, now, timeZone: config.GATEWAY_TIME_ZONE }),
    forwarder,
    crossOrigin: createCrossOrigin(config.EDGE_CORS_ORIGINS),
    trustProxy: config.EDGE_TRUST_PROXY,
  });
  const app = createEdgeApp({ contexts, gateway, readiness });

  await life.listen(app, {
    port: config.PORT,
    host: config.HOST,
    portSetting: 'PORT',
    options: edgeServerOptions({ requestTimeoutMs: config.EDGE_REQUEST_TIMEOUT_MS }),
    configure: (server) => configureEdgeServer(server, { app, forwarder, logger, metrics }),
  });
  await life.listen(createMetricsApp(page), {
    port: config.EDGE_METRICS_PORT,
    host: config.HOST,
    portSetting: 'EDGE_METRICS_PORT',
  });
}
