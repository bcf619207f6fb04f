import type { Identity } from '@gateway/contracts/identity';
import { reportOnce } from '@gateway/metering/broken-records';
import {
  type ClientSecrets,
  createClientSecrets,
  isClientSecret,
} from '@gateway/metering/keys/client-secret';
import { createKeyFinder } from '@gateway/metering/keys/find-key';
import { createKeyCache, type KeyCache } from '@gateway/metering/keys/key-cache';
import { createKeyIdentityReader, type ReadKeyIdentity } from '@gateway/metering/keys/key-identity';
import { hashOf } from '@gateway/metering/keys/key-secret';
import { createFilledCheck } from '@gateway/metering/keys/not-filled';
import { createPasses, type Passes } from '@gateway/metering/keys/pass';
import { createAdmission } from '@gateway/metering/limits/admission';
import { createRequestEntry } from '@gateway/metering/limits/request-entry';
import { createRefusalCounts } from '@gateway/metering/usage/refusal-counts';
import { createRefusals } from '@gateway/metering/usage/refusals';
import { createRedis } from '@gateway/redis/open-redis';
import { connectRedis } from '@gateway/service-kit/life/connect-redis';
import { createLoadGuard } from '@gateway/service-kit/load/load-guard';
import { metricsPage, onlyPages } from '@gateway/service-kit/ops';
import { createRequestLog } from '@gateway/service-kit/request/request-log';
import type { Started } from '@gateway/service-kit/start-service';
import { createEdgeApp } from './app.ts';
import type { EdgeSettings } from './config.ts';
import type { Forwarder } from './forwarding/forwarder.ts';
import { createGateway, type Seal } from './gateway.ts';
import { createCrossOrigin } from './request/cross-origin.ts';
import { createEdgeContexts } from './request/edge-context.ts';
import { createOwnKey } from './request/own-key.ts';
import { createRequestLimits } from './request/request-limits.ts';
import { boundConnections } from './server/connection-bounds.ts';
import { configureEdgeServer, edgeServerOptions } from './server/edge-server.ts';
import { createSocketDoor, type OpenSocket } from './sockets/socket-door.ts';
import { createSocketLimits } from './sockets/socket-limits.ts';

/** The watches of every request, for services in any process. */
export const limitsOf = ({ config, life }: Started<EdgeSettings>) => ({
  timeoutMs: config.EDGE_SERVICE_TIMEOUT_MS,
  body: {
    idleMs: config.EDGE_BODY_IDLE_TIMEOUT_MS,
    minBytesPerSecond: config.EDGE_BODY_MIN_BYTES_PER_SECOND,
  },
  reply: {
    idleMs: config.EDGE_REPLY_IDLE_TIMEOUT_MS,
    minBytesPerSecond: config.EDGE_REPLY_MIN_BYTES_PER_SECOND,
  },
  deadline: life.deadline,
});

/** One kind of connection to the services. */
interface ServiceAccess {
  readonly forwarder: Forwarder;
  readonly openSocket: OpenSocket;
  readonly seal: Seal | null;
}

/** Makes the edge with one kind of connection to its services, and listens. */
export async function listenEdge(
  { config, life, logger, metrics, page, processLoad, tracing }: Started<EdgeSettings>,
  { forwarder: opened, openSocket, seal }: ServiceAccess,
): Promise<void> {
  const now = Date.now;
  const { readiness, deadline } = life;
  const forwarder = life.own(opened, (owned) => owned.close());
  const redis = life.own(createRedis(config.REDIS_URL, 'request'), (owned) => owned.disconnect());
  const onBroken = reportOnce((broken) => {
    logger.warn(broken, 'skipping a stored record that cannot be read');
    metrics.brokenRecord(broken.kind);
  });
  const keys = createKeyFinder({ redis, gatewaySecret: config.GATEWAY_SECRET, now, onBroken });
  await connectRedis(redis, { logger, readiness, metrics });
  readiness.check('keys', createFilledCheck(redis));

  const admission = life.own(createAdmission({ redis }), (owned) => owned.close());
  const keepSumsDays = config.USAGE_SUMS_DAYS;
  const counts = life.own(createRefusalCounts({ redis, now, keepSumsDays }), (owned) => owned.close());
  const refusals = createRefusals({ counts, metrics });
  const requestLog = createRequestLog({ logger, metrics });
  const contexts = createEdgeContexts({ requestLog, deadline, tracing });
  const crossOrigin = createCrossOrigin(config.EDGE_CORS_ORIGINS);
  const gateway = createGateway({
    contexts,
    identify: createIdentifyCaller({
      identify: createKeyCache({ findKey: keys.findKey, now, uptime: () => performance.now() }).identify,
      identifyByHash: createKeyCache({ findKey: keys.findKeyByHash, now, uptime: () => performance.now() })
        .identify,
      clientSecrets: createClientSecrets({ gatewaySecret: config.GATEWAY_SECRET, now }),
      passes: createPasses({ gatewaySecret: config.GATEWAY_SECRET, now }),
      readIdentity: createKeyIdentityReader({ redis, now, onBroken }),
    }),
    seal,
    limits: createRequestLimits({ entry: createRequestEntry({ admission, now }), refusals }),
    refusals,
    ownKey: createOwnKey({ redis, now, timeZone: config.GATEWAY_TIME_ZONE }),
    forwarder,
    load: createLoadGuard({
      settings: config,
      process: processLoad,
      metrics,
      onShed: (identity, endpoint) => refusals.add('overloaded', identity, endpoint),
      inFlight: () => forwarder.inFlight,
    }),
    crossOrigin,
    sockets: createSocketDoor({
      open: openSocket,
      limits: createSocketLimits({
        maxOpen: config.EDGE_MAX_WEBSOCKETS,
        maxOpenPerKey: config.EDGE_MAX_WEBSOCKETS_PER_KEY,
      }),
      crossOrigin,
    }),
    hashSecret: (secret) => hashOf(secret, config.GATEWAY_SECRET),
    trustProxy: config.EDGE_TRUST_PROXY,
  });
  const app = createEdgeApp({ contexts, gateway, readiness });

  await life.listen(app, {
    port: config.PORT,
    host: config.HOST,
    portSetting: 'PORT',
    options: edgeServerOptions({
      requestTimeoutMs: config.EDGE_REQUEST_TIMEOUT_MS,
      takesSockets: config.EDGE_WEBSOCKETS,
    }),
    configure: (server) => {
      const { EDGE_MAX_CONNECTIONS: max, EDGE_MAX_CONNECTIONS_PER_ADDRESS: maxPerAddress } = config;
      boundConnections(server, { max, maxPerAddress }, metrics);
      configureEdgeServer(server, { app, forwarder, logger, metrics });
    },
  });
  // Anyone may call the public port.
  await life.listen(onlyPages(metricsPage(page)), {
    port: config.EDGE_METRICS_PORT,
    host: config.HOST,
    portSetting: 'EDGE_METRICS_PORT',
  });
}

interface IdentifyCallerOptions {
  /** The owner of a key's secret. */
  readonly identify: KeyCache['identify'];
  /** The same by the secret's keyed hash. */
  readonly identifyByHash: KeyCache['identify'];
  readonly clientSecrets: Pick<ClientSecrets, 'open'>;
  readonly passes: Pick<Passes, 'read'>;
  readonly readIdentity: ReadKeyIdentity;
}

/** Finds who sends a request: the owner of the secret, or the key that a pass or a client secret stands for, with its present settings. */
const createIdentifyCaller =
  ({
    identify,
    identifyByHash,
    clientSecrets,
    passes,
    readIdentity,
  }: IdentifyCallerOptions): KeyCache['identify'] =>
  (bearer) => {
    const opened = isClientSecret(bearer) ? clientSecrets.open(bearer) : undefined;
    if (opened !== undefined) {
      const { secretHash } = opened;
      const found = identifyByHash(secretHash);
      const withSecret = (identity: Identity | undefined) =>
        identity && { ...identity, secretHash, clientSecret: bearer };
      return found instanceof Promise ? found.then(withSecret) : withSecret(found);
    }
    const pass = passes.read(bearer);
    if (pass === undefined) return identify(bearer);
    const { keyId, channel, draft } = pass;
    return readIdentity(keyId).then(
      (identity) =>
        identity && {
          ...identity,
          ...(channel !== null && { channel }),
          ...(draft !== undefined && { draft }),
        },
    );
  };
