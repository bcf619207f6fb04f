import { createHash, timingSafeEqual } from 'node:crypto';
import { join } from 'node:path';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { createJobList } from '@gateway/jobs/records/job-list';
import { reportOnce } from '@gateway/metering/broken-records';
import { createClientSecrets } from '@gateway/metering/keys/client-secret';
import { createKeyFinder } from '@gateway/metering/keys/find-key';
import { createKeyStore } from '@gateway/metering/keys/key-store';
import { createPasses } from '@gateway/metering/keys/pass';
import type { AccessRecords } from '@gateway/metering/keys/records/access-records';
import { readSpoolState } from '@gateway/metering/meter/spool-state';
import { openRecords } from '@gateway/records/open-records';
import { createRedis } from '@gateway/redis/open-redis';
import { connectRedis } from '@gateway/service-kit/life/connect-redis';
import { createRequestLog } from '@gateway/service-kit/request/request-log';
import type { Started } from '@gateway/service-kit/start-service';
import { adminRoutes } from './admin-routes.ts';
import { createHostCheck } from './api/known-hosts.ts';
import { createAdminApp } from './app.ts';
import { type AdminConfig, edgeUrlOf } from './config.ts';
import { openConfiguration } from './configuration/open-configuration.ts';
import { consoleAddress } from './console/console-address.ts';
import { serveConsole } from './console/serve-console.ts';
import { serveDocs } from './console/serve-docs.ts';
import { createConversationMetrics } from './operations/conversation-metrics.ts';
import { createQueueMetrics } from './operations/queue-metrics.ts';
import { createStorageMetrics } from './operations/storage-metrics.ts';
import { createRelay } from './playground/relay.ts';
import { createSocketRelay, serveSockets } from './playground/relay-socket.ts';
import { createAuthenticate } from './sessions/authenticate.ts';
import { createAddressOf } from './sessions/client-address.ts';
import { oidcSettings } from './sessions/oidc/oidc-settings.ts';
import { createSessionCookies } from './sessions/session-cookie.ts';
import { createSessionStore } from './sessions/session-store.ts';
import { createSignInAttempts } from './sessions/sign-in-attempts.ts';

/** Where the build of apps/console writes. */
const CONSOLE_FOLDER = join(import.meta.dirname, '../../console/dist');
/** The site that apps/docs writes, which is in the repository. */
const DOCS_FOLDER = join(import.meta.dirname, '../../docs/site');
/** For a whole request to arrive. As long as the edge's default, whose uploads come through here from the playground. */
const REQUEST_TIMEOUT_MS = 600_000;

/** Opens the admin service. @returns what listens */
export async function openAdmin({
  config,
  env,
  life,
  logger,
  metrics,
  page,
}: Started<AdminConfig>): Promise<() => Promise<number>> {
  const now = Date.now;
  const { readiness, deadline } = life;
  const oidc = oidcSettings(config);
  const redis = life.own(createRedis(config.REDIS_URL, 'request'), (owned) => owned.disconnect());
  await connectRedis(redis, { logger, readiness, metrics });
  // Its commands wait: what is asked for comes from here.
  const asks = life.own(createRedis(config.REDIS_URL, 'worker'), (owned) => owned.disconnect());
  // Who watches the other connection reports that Redis is away.
  asks.on('error', () => undefined);
  const onBroken = reportOnce((broken) => {
    logger.warn(broken, 'skipping a stored record that cannot be read');
    metrics.brokenRecord(broken.kind);
  });
  const keysIn = (access: AccessRecords) =>
    createKeyStore({
      records: access,
      gatewaySecret: config.GATEWAY_SECRET,
      webhookSecret: config.WEBHOOK_SECRET,
      now,
      onBroken,
    });
  const bootstrapKey = config.GATEWAY_BOOTSTRAP_KEY;
  const records = life.own(
    await openRecords({
      redis,
      asks,
      settings: config,
      now,
      ...(bootstrapKey !== undefined && {
        prepareAccess: (access) => keysIn(access).ensureBootstrapKey(bootstrapKey),
      }),
      onBroken,
      report: (event) => logger.info(event, 'the database'),
    }),
    (owned) => owned[Symbol.asyncDispose](),
  );
  const onQueueError = (error: unknown) => logger.warn({ err: error }, 'the queues');
  const jobs = createJobList(redis, onQueueError);
  createQueueMetrics(metrics, { jobs, now, onError: onQueueError });
  createStorageMetrics(metrics, {
    redis,
    records,
    readSpool: () => readSpoolState(config.GATEWAY_DATA_DIR),
    now,
    onError: (error) => logger.warn({ err: error }, 'the memory of Redis cannot be read'),
  });
  createConversationMetrics(metrics, {
    conversations: records.conversations,
    now,
    onError: (error) => logger.warn({ err: error }, 'stored conversations cannot be counted'),
  });
  const checkToken = createTokenCheck(config.GATEWAY_ADMIN_TOKEN);
  const { basePath, hostName } = consoleAddress(config.CONSOLE_URL);
  const cookies = createSessionCookies(config.GATEWAY_SECRET, basePath);
  const sessions = createSessionStore({
    redis,
    now,
    maxSeconds: config.CONSOLE_SESSION_HOURS * 3600,
    idleSeconds: config.CONSOLE_SESSION_IDLE_HOURS * 3600,
  });
  const keys = keysIn(records.access);
  const keyFinder = createKeyFinder({ redis, gatewaySecret: config.GATEWAY_SECRET, now, onBroken });
  const passes = createPasses({ gatewaySecret: config.GATEWAY_SECRET, now });
  const addressOf = createAddressOf(config.ADMIN_TRUST_PROXY);
  const own = life.own.bind(life);
  const configuration = await openConfiguration({ config, env, redis, records, logger, own });
  const authenticate = createAuthenticate({
    checkToken,
    guesses: createSignInAttempts(redis, 'call'),
    addressOf,
    cookies,
    sessions,
    keys: keyFinder,
    people: records.people,
  });
  const app = createAdminApp({
    routes: adminRoutes({
      config,
      env,
      redis,
      now,
      logger,
      metrics,
      onBroken,
      records,
      jobs,
      stopping: life.stopping,
      sessions,
      cookies,
      basePath,
      checkToken,
      addressOf,
      keys,
      keyFinder,
      passes,
      oidc,
      configuration,
      own,
    }),
    relay: createRelay({
      edgeUrl: edgeUrlOf(config),
      keys,
      passes,
    }),
    relaySocket: createSocketRelay({
      edgeUrl: edgeUrlOf(config),
      keys,
      authenticate,
      clientSecrets: createClientSecrets({ gatewaySecret: config.GATEWAY_SECRET, now: Date.now }),
      now: Date.now,
      stopping: life.stopping,
    }),
    console: serveConsole(CONSOLE_FOLDER, basePath),
    docs: serveDocs(DOCS_FOLDER, basePath),
    basePath,
    checkHost: createHostCheck([...config.ADMIN_ALLOWED_HOSTS, ...(hostName === null ? [] : [hostName])]),
    authenticate,
    readiness,
    page,
    requestLog: createRequestLog({ logger, metrics }),
    deadline,
    maxJsonDepth: config.MAX_JSON_DEPTH,
    instanceKey: config.ADMIN_INSTANCE_KEY,
  });
  const sockets = serveSockets(app);
  return () =>
    life.listen(app, {
      port: config.ADMIN_PORT,
      host: config.HOST,
      portSetting: 'ADMIN_PORT',
      options: { requestTimeout: REQUEST_TIMEOUT_MS, ...sockets.options },
      configure: sockets.configure,
    });
}

const BEARER = /^bearer +(\S+) *$/i;

/** A digest, so that any tokens have equal lengths for the comparison in constant time. */
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/**
 * Makes the check of an `Authorization` header against the admin token.
 *
 * @throws {GatewayError} `missing_key` without a bearer token, `invalid_key` for another one (by the check)
 */
function createTokenCheck(token: string): (authorization: string | undefined) => void {
  const expected = digest(token);
  return (authorization) => {
    const sent = BEARER.exec(authorization ?? '')?.[1];
    if (sent === undefined)
      throw refusal('missing_key', 'Send the admin token: Authorization: Bearer GATEWAY_ADMIN_TOKEN.');
    if (!timingSafeEqual(digest(sent), expected))
      throw refusal('invalid_key', 'This is not the admin token.');
  };
}

const refusal = (code: 'missing_key' | 'invalid_key', message: string): GatewayError =>
  new GatewayError(code, { message, headers: { 'www-authenticate': 'Bearer' } });
