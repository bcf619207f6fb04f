import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openAssetStores } from '@gateway/assets/open-asset-stores';
import type { Identity } from '@gateway/contracts/identity';
import { openHooks } from '@gateway/hooks/open-hooks';
import type { JobWorker } from '@gateway/jobs/worker/job-worker';
import { createOperationBatch } from '@gateway/metering/batch/operation-batch';
import type { KeyFinder } from '@gateway/metering/keys/find-key';
import { hashOf } from '@gateway/metering/keys/key-secret';
import type { KeyStore } from '@gateway/metering/keys/key-store';
import { createAdmission } from '@gateway/metering/limits/admission';
import { createRequestEntry } from '@gateway/metering/limits/request-entry';
import { openMeter } from '@gateway/metering/meter/open-meter';
import { keysInRedis } from '@gateway/metering/testing/records-in-redis';
import { createRefusalCounts } from '@gateway/metering/usage/refusal-counts';
import { createRefusals } from '@gateway/metering/usage/refusals';
import { createContentLog } from '@gateway/model-service/content-log/content-log';
import { createContentMetrics } from '@gateway/model-service/content-log/content-metrics';
import { openContentStores } from '@gateway/model-service/content-log/content-store';
import { createUpstreamMetrics } from '@gateway/model-service/upstream-metrics';
import { LoadSettings, parseConfig } from '@gateway/service-kit/config';
import { createIdentitySigner, createIdentityVerifier } from '@gateway/service-kit/identity/identity-token';
import { createReadiness } from '@gateway/service-kit/life/readiness';
import { createLoadGuard } from '@gateway/service-kit/load/load-guard';
import { createProcessLoad } from '@gateway/service-kit/load/process-load';
import { createMetrics, type Metrics, type RefusalReason } from '@gateway/service-kit/metrics';
import { serveHandshakes } from '@gateway/service-kit/request/handshake';
import { createRequestLog } from '@gateway/service-kit/request/request-log';
import { connectSocket, type TestSocket } from '@gateway/testkit/connect-socket';
import { parseConfiguration } from '@gateway/upstream/configuration/parse-configuration';
import { createUpstream, type Upstream } from '@gateway/upstream/upstream';
import type { Redis } from 'ioredis';
import pino from 'pino';
import { createBackgroundUsage } from '../background/background-usage.ts';
import type { TextServices } from '../call/request/text-call.ts';
import { createTextService } from '../endpoints/app.ts';
import { createOpenDraft } from '../endpoints/drafts/open-draft.ts';
import { storeEnding } from '../endpoints/stored/read-stored.ts';
import { createTextMetrics } from '../metering/text-metrics.ts';
import type { BatchesAndFiles } from '../open-batches.ts';
import { openSockets } from '../open-sockets.ts';
import { createIdOrigins } from '../stored/origins/id-origins.ts';
import { createPendingResponses } from '../stored/pending-responses.ts';
import { partFilesIn } from '../stored/store/part-files.ts';
import { createConversationStore } from '../stored/store/redis-conversation-store.ts';
import { createCompactionSeals } from '../wire/tokens/compaction-seal.ts';
import { createTokenSeals } from '../wire/tokens/opaque-token.ts';
import { openAcceptance, type WorkerUnderTest } from './open-acceptance.ts';

export interface StartOptions {
  /** YAML, as in the configuration file. */
  readonly configuration: string;
  readonly redis: Redis;
  readonly keepAliveMs?: number;
  readonly maxBodyBytes?: number;
  /** Default: nobody looks after background responses within a test's time. */
  readonly backgroundPollMs?: number;
  readonly backgroundGiveUpMs?: number;
  /** Background responses that may wait. Default: 1000. */
  readonly maxWaiting?: number;
  /** Default: as in production. */
  readonly webSockets?: Partial<typeof SOCKET_SETTINGS>;
  /** What it takes on. Default: as in production. */
  readonly load?: Partial<LoadSettings>;
  /** What may be fetched from private addresses. Default: nothing. */
  readonly privateOrigins?: readonly string[];
  /** Where large parts lie, for replicas that share them. Default: a folder of its own. */
  readonly partsDir?: string;
}

export interface TextUnderTest {
  readonly url: string;
  readonly upstream: Upstream;
  /** What its handlers are made of. */
  readonly services: TextServices;
  readonly metrics: Metrics;
  /** Shared with its workers. */
  readonly dataDir: string;
  /** The log lines of requests that have ended, oldest first. */
  readonly lines: readonly Record<string, unknown>[];
  /** What the edge adds to a request, for a client that is not `fetch`. */
  identityHeaders(identity?: Partial<Identity>): Record<string, string>;
  /** As the edge passes a request on: with a signed identity. */
  fetch(path: string, init?: FetchInit): Promise<Response>;
  /** Starts a worker that generates this service's background responses. It ends with the service. */
  startWorker(options?: WorkerUnderTest): Promise<JobWorker>;
  /** Starts a worker that answers the lines of batches. It ends with the service. */
  /** Starts what the service runs batches by. */
  startBatchRunner(options?: WorkerUnderTest): Promise<JobWorker>;
  readonly batches: BatchesAndFiles;
  /** What keys may do when a line of their batch is taken, by their ids; null: it has been revoked. Others may do everything. */
  readonly identities: Map<string, Partial<Identity> | null>;
  /** The keys that WebSockets are opened with. */
  readonly keys: KeyStore & KeyFinder;
  /** Opens a WebSocket with a key, by default one that exists, as the edge passes it on. */
  webSocket(key?: string): Promise<TestSocket>;
  /** What a signal to stop does, before the drain deadline. */
  stop(): void;
  /** What the drain deadline does. */
  passDeadline(): void;
  close(): Promise<void>;
}

interface FetchInit extends Omit<RequestInit, 'body' | 'headers'> {
  /** Sent as it is if it is a string or bytes, else as JSON. Its presence makes the request a POST. */
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  readonly identity?: Partial<Identity>;
}

const IDENTITY: Identity = {
  keyId: 'key_one',
  keyName: 'one',
  team: null,
  models: null,
  endpoints: null,
  accounts: [],
};

const secret = 'a secret that all processes of this test share';

/** The key of WebSockets: it can be looked up again. */
export const SOCKET_KEY = 'a-key-of-the-test-for-websockets';

const SOCKET_SETTINGS = {
  GATEWAY_SECRET: secret,
  USAGE_SUMS_DAYS: 1,
  TEXT_WEBSOCKET_PING_MS: 15_000,
  TEXT_WEBSOCKET_IDLE_MS: 60_000,
  TEXT_WEBSOCKET_LIFE_MS: 60_000,
  TEXT_WEBSOCKET_MESSAGE_MS: 60_000,
};

/** The text service in this process, on a port of its own, as the edge calls it. */
export async function startText(options: StartOptions): Promise<TextUnderTest> {
  const metrics = createMetrics('text');
  const textMetrics = createTextMetrics(metrics);
  const configuration = parseConfiguration(options.configuration, 'gateway.yaml', {});
  const upstream = createUpstream({
    configuration,
    ...createUpstreamMetrics(metrics),
  });
  const lines: Record<string, unknown>[] = [];
  const logger = pino({ level: 'info' }, { write: (line) => lines.push(JSON.parse(line)) });
  const stopping = new AbortController();
  const deadline = new AbortController();
  const readiness = createReadiness();
  readiness.open();
  const dataDir = await mkdtemp(join(tmpdir(), 'text-'));
  const counts = createRefusalCounts({ redis: options.redis, now: Date.now, keepSumsDays: 1 });
  const refusals = createRefusals<RefusalReason>({ counts, metrics });
  const batch = createOperationBatch({ redis: options.redis });
  const admission = createAdmission({ redis: options.redis, batch });
  const entry = createRequestEntry({ admission, now: Date.now });
  const meter = await openMeter({
    redis: options.redis,
    batch,
    settings: {
      GATEWAY_DATA_DIR: dataDir,
      GATEWAY_TIME_ZONE: 'UTC',
      USAGE_RECORDS_DAYS: 1,
    },
    metrics,
    refusals: counts,
    now: Date.now,
    report: (problem) => logger.warn(problem, 'metering'),
  });
  const stores = await openAssetStores({ url: options.partsDir ?? dataDir });
  const conversations = createConversationStore({
    redis: options.redis,
    files: partFilesIn(await stores.open('conversations')),
    idTtlSeconds: 60,
  });
  const background = createBackgroundUsage({
    pending: createPendingResponses(options.redis),
    upstream,
    meter,
    metrics: textMetrics,
    now: Date.now,
    pollMs: options.backgroundPollMs ?? 60_000,
    giveUpMs: options.backgroundGiveUpMs ?? 60_000,
    onEnded: storeEnding({ conversations, upstream, metrics: textMetrics }),
    tracing: undefined,
    onBooked: (line) => logger.info(line, 'background response ended'),
    onProblem: (reason) => logger.warn({ reason }, 'background responses cannot be looked at'),
  });
  const contentLog = createContentLog({
    configuration: () => upstream.configuration,
    dataDir,
    openStores: () => openContentStores(stores),
    now: Date.now,
    createMetrics: (spool) => createContentMetrics(metrics, spool),
    report: ({ reason, cause }) => logger.warn({ reason, err: cause }, 'content log'),
  });
  const hooks = openHooks({
    metrics,
    onProblem: (problem) => logger.warn(problem, 'a check by a hook failed'),
    onReported: (report) => logger.warn(report, 'a hook reports an answer'),
  });
  const services = {
    contentLog,
    spanContents: null,
    hooks,
    refusals,
    conversations,
    meter,
    background,
    now: Date.now,
    upstream,
    origins: createIdOrigins({ redis: options.redis, ttlSeconds: 60 }),
    metrics: textMetrics,
    fetching: {
      privateOrigins: options.privateOrigins ?? [],
      timeoutMs: 10_000,
      network: () => upstream.configuration.network,
    },
    tokens: createTokenSeals(secret),
    compactions: createCompactionSeals(secret),
    maxBodyBytes: options.maxBodyBytes ?? 32 * 1024 * 1024,
    maxJsonDepth: 128,
    keepAliveMs: options.keepAliveMs ?? 0,
  };
  const identities = new Map<string, Partial<Identity> | null>();
  const acceptance = await openAcceptance({
    redis: options.redis,
    services,
    dataDir,
    logger,
    maxWaiting: options.maxWaiting ?? 1000,
    metrics,
    readIdentity: async (keyId) => {
      const own = identities.get(keyId);
      return own === null ? undefined : { ...IDENTITY, keyId, ...own };
    },
  });
  const requestLog = createRequestLog({ logger, metrics });
  const verifyIdentity = createIdentityVerifier({ secret, now: Date.now });
  const load = createLoadGuard({
    settings: { ...parseConfig(LoadSettings, {}), ...options.load },
    process: createProcessLoad(),
    metrics,
    onShed: (shed, endpoint) => refusals.add('overloaded', shed, endpoint),
  });
  const { app } = createTextService({
    ...services,
    acceptance,
    batches: acceptance.batches,
    counting: { entry, refusals },
    openDraft: createOpenDraft({
      redis: options.redis,
      env: {},
      path: 'gateway.yaml',
      gatewaySecret: secret,
    }),
    service: { readiness, metrics, requestLog, verifyIdentity, deadline: deadline.signal, load },
  });
  const life = new AsyncDisposableStack();
  const sockets = openSockets(
    {
      config: { ...SOCKET_SETTINGS, ...options.webSockets },
      logger,
      metrics,
      life: {
        own: (resource, close) =>
          life.adopt(resource, async (owned) => {
            await close(owned);
          }),
        stopping: stopping.signal,
        deadline: deadline.signal,
      },
    },
    { services, redis: options.redis, entry, refusals, requestLog, load },
  );
  const handshakes = serveHandshakes({
    path: '/v1/responses',
    verifyIdentity,
    accept: sockets.acceptSocket,
  });
  // No idle connection is closed while a test, busy elsewhere, is about to use it again.
  const server = createServer({ keepAliveTimeout: 600_000, ...handshakes.options }, app);
  handshakes.configure(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const url = `http://127.0.0.1:${address.port}`;
  const keys = keysInRedis({ redis: options.redis, gatewaySecret: secret });
  const sign = createIdentitySigner({ secret, now: Date.now });

  return {
    url,
    upstream,
    services,
    metrics,
    dataDir,
    lines,
    identityHeaders: (identity) => ({
      'x-gateway-identity': sign({ ...IDENTITY, ...identity }),
      'x-gateway-uncounted': '1',
    }),
    fetch: (path, { body, headers, identity, ...init } = {}) =>
      fetch(`${url}${path}`, {
        ...(body === undefined ? {} : { method: 'POST', body: bodyOf(body) }),
        ...init,
        headers: {
          'content-type': 'application/json',
          'x-gateway-identity': sign({ ...IDENTITY, ...identity }),
          'x-gateway-uncounted': '1',
          ...headers,
        },
      }),
    startWorker: acceptance.startWorker,
    startBatchRunner: acceptance.startBatchRunner,
    batches: acceptance.batches,
    identities,
    keys,
    webSocket: async (key = SOCKET_KEY) => {
      if (key === SOCKET_KEY) await keys.ensureBootstrapKey(key);
      const signed = sign({ ...IDENTITY, secretHash: hashOf(key, secret) });
      return connectSocket(`${url}/v1/responses`, { 'x-gateway-identity': signed });
    },
    stop: () => stopping.abort(new Error('SIGTERM')),
    passDeadline: () => deadline.abort(new Error('drain deadline passed')),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await life.disposeAsync();
      await acceptance.close();
      await background.close();
      await contentLog.close();
      await hooks.close();
      await upstream.destroy();
      await admission.close();
      await meter.close();
      await counts.close();
      await rm(dataDir, { recursive: true });
    },
  };
}

const bodyOf = (body: unknown): string | Uint8Array<ArrayBuffer> =>
  typeof body === 'string' ? body : body instanceof Uint8Array ? new Uint8Array(body) : JSON.stringify(body);
