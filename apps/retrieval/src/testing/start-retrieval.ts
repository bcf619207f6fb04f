import { once } from 'node:events';
import { createServer } from 'node:http';
import { openAssetStores } from '@gateway/assets/open-asset-stores';
import type { Identity } from '@gateway/contracts/identity';
import { createOperationBatch } from '@gateway/metering/batch/operation-batch';
import { createAdmission } from '@gateway/metering/limits/admission';
import { createRequestEntry } from '@gateway/metering/limits/request-entry';
import { openMeter } from '@gateway/metering/meter/open-meter';
import { createRefusalCounts } from '@gateway/metering/usage/refusal-counts';
import { createRefusals } from '@gateway/metering/usage/refusals';
import { unrecordedRecords } from '@gateway/metering/usage/unrecorded-usage';
import { createContentLog } from '@gateway/model-service/content-log/content-log';
import { createContentMetrics } from '@gateway/model-service/content-log/content-metrics';
import { openContentStores } from '@gateway/model-service/content-log/content-store';
import { LoadSettings, parseConfig } from '@gateway/service-kit/config';
import { createIdentitySigner, createIdentityVerifier } from '@gateway/service-kit/identity/identity-token';
import { createReadiness } from '@gateway/service-kit/life/readiness';
import { createLoadGuard } from '@gateway/service-kit/load/load-guard';
import { createProcessLoad } from '@gateway/service-kit/load/process-load';
import { createMetrics, type RefusalReason } from '@gateway/service-kit/metrics';
import { createRequestLog } from '@gateway/service-kit/request/request-log';
import type { Cloud } from '@gateway/simulator/clouds/cloud';
import { startSimulator } from '@gateway/simulator/start-simulator';
import { startRedis } from '@gateway/testkit/start-redis';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { waitFor } from '@gateway/testkit/wait-for';
import { parseConfiguration } from '@gateway/upstream/configuration/parse-configuration';
import { createUpstream } from '@gateway/upstream/upstream';
import { Redis } from 'ioredis';
import OpenAI from 'openai';
import pino from 'pino';
import { createRetrievalService } from '../app.ts';

const SECRET = 'a secret that only these tests know of';

/** Of a key that may do everything. */
const IDENTITY: Identity = {
  ...{ keyId: 'key_1', keyName: 'test', team: null, models: null, endpoints: null, accounts: [] },
};

interface RetrievalOptions {
  /** The configuration file, given the stand-in provider's URL. */
  readonly configuration: (url: string) => string;
  /** What the stand-in provider is behind. */
  readonly cloud?: Cloud;
}

export type TestRetrieval = Awaited<ReturnType<typeof startRetrieval>>;

/** The retrieval service in this process, before a stand-in provider and a real Redis. */
export async function startRetrieval({ configuration, cloud }: RetrievalOptions) {
  const startedAtMs = Date.now();
  const resources = new AsyncDisposableStack();
  const own = <T extends { close(): unknown }>(resource: T): T =>
    resources.adopt(resource, async (owned) => {
      await owned.close();
    });
  const redisServer = own(await startRedis());
  const folder = own(await temporaryFolder());
  const simulator = own(await startSimulator(cloud && { cloud }));
  const redis = resources.adopt(new Redis(redisServer.url), (opened) => opened.disconnect());
  const upstream = own(
    createUpstream({ configuration: parseConfiguration(configuration(simulator.url), 'gateway.yaml', {}) }),
  );
  const metrics = createMetrics('retrieval');
  const lines: Record<string, unknown>[] = [];
  const logger = pino({ level: 'info' }, { write: (line) => lines.push(JSON.parse(line)) });
  const now = Date.now;
  const counts = own(createRefusalCounts({ redis, now, keepSumsDays: 1 }));
  const batch = createOperationBatch({ redis });
  const admission = own(createAdmission({ redis, batch }));
  const meter = own(
    await openMeter({
      redis,
      batch,
      settings: { GATEWAY_DATA_DIR: folder.path, GATEWAY_TIME_ZONE: 'UTC', USAGE_RECORDS_DAYS: 1 },
      metrics,
      refusals: counts,
      now,
      report: (problem) => logger.warn(problem, 'metering'),
    }),
  );
  const stores = own(await openAssetStores({ url: folder.path }));
  const contentLog = own(
    createContentLog({
      configuration: () => upstream.configuration,
      dataDir: folder.path,
      openStores: () => openContentStores(stores),
      now,
      createMetrics: (spool) => createContentMetrics(metrics, spool),
      report: ({ reason, cause }) => logger.warn({ reason, err: cause }, 'content log'),
    }),
  );
  const readiness = createReadiness();
  readiness.open();
  const service = createRetrievalService({
    readiness,
    metrics,
    requestLog: createRequestLog({ logger, metrics }),
    verifyIdentity: createIdentityVerifier({ secret: SECRET, now }),
    deadline: new AbortController().signal,
    load: createLoadGuard({
      settings: parseConfig(LoadSettings, {}),
      process: createProcessLoad(),
      metrics,
      onShed: () => undefined,
    }),
    upstream,
    meter,
    contentLog,
    entry: createRequestEntry({ admission, now }),
    refusals: createRefusals<RefusalReason>({ counts, metrics }),
    jsonMaxBytes: 4_000_000,
    maxJsonDepth: 128,
    now,
  });
  const server = createServer(service.app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  resources.defer(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' && address?.port}`;
  const sign = createIdentitySigner({ secret: SECRET, now });
  const headersFor = (identity: Partial<Identity> = {}) => ({
    'x-gateway-identity': sign({ ...IDENTITY, ...identity }),
    'x-gateway-uncounted': '1',
  });
  return {
    url,
    simulator,
    lines,
    /** Where the content log lies. */
    dataDir: folder.path,
    headersFor,
    /** The official client, as the edge would pass its requests on. */
    openai: (identity: Partial<Identity> = {}) =>
      new OpenAI({
        apiKey: 'sk-unused',
        baseURL: `${url}/v1`,
        maxRetries: 0,
        defaultHeaders: headersFor(identity),
      }),
    post: (path: string, body: unknown, headers: Record<string, string> = {}) =>
      fetch(url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headersFor(), ...headers },
        body: JSON.stringify(body),
      }),
    /** What has been accounted for a key, once there are so many records. */
    accounted: (keyId: string, count = 1) =>
      waitFor(async () => {
        const range = { fromMs: startedAtMs, toMs: Date.now() + 60_000 };
        const records = (await unrecordedRecords(redis, range)).filter((one) => one.keyId === keyId);
        return records.length >= count && records;
      }),
    close: () => resources.disposeAsync(),
  };
}
