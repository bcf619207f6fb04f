import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import { join } from 'node:path';
import { openAssetStores } from '@gateway/assets/open-asset-stores';
import type { Identity } from '@gateway/contracts/identity';
import type { JobKind } from '@gateway/contracts/jobs';
import { openJobStores } from '@gateway/jobs/files/job-stores';
import type { SettleJob } from '@gateway/jobs/job-metering';
import { createJobQueue, type JobQueue } from '@gateway/jobs/queue/job-queue';
import type { FinishedJob } from '@gateway/jobs/worker/finished-job';
import { type JobProcessors, processorsByQueue } from '@gateway/jobs/worker/job-processor';
import { createJobWorker, type JobWorkerOptions } from '@gateway/jobs/worker/job-worker';
import type { ReadKeyIdentity } from '@gateway/metering/keys/key-identity';
import { openMeter } from '@gateway/metering/meter/open-meter';
import { createRefusalCounts } from '@gateway/metering/usage/refusal-counts';
import { unrecordedRecords } from '@gateway/metering/usage/unrecorded-usage';
import { createRedis } from '@gateway/redis/open-redis';
import { LoadSettings, parseConfig } from '@gateway/service-kit/config';
import { createIdentitySigner, createIdentityVerifier } from '@gateway/service-kit/identity/identity-token';
import { createReadiness } from '@gateway/service-kit/life/readiness';
import { createLoadGuard } from '@gateway/service-kit/load/load-guard';
import { createProcessLoad } from '@gateway/service-kit/load/process-load';
import { createMetrics } from '@gateway/service-kit/metrics';
import type { LogFields } from '@gateway/service-kit/request/request-context';
import type { RequestLog } from '@gateway/service-kit/request/request-log';
import { startSimulator } from '@gateway/simulator/start-simulator';
import { startRedis } from '@gateway/testkit/start-redis';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { waitFor } from '@gateway/testkit/wait-for';
import { parseConfiguration } from '@gateway/upstream/configuration/parse-configuration';
import { createUpstream } from '@gateway/upstream/upstream';
import { createContentLog } from '../content-log/content-log.ts';
import { createContentMetrics } from '../content-log/content-metrics.ts';
import { openContentStores } from '../content-log/content-store.ts';
import { createJobMetrics } from '../jobs/job-metrics.ts';
import { loggedLines } from './logged-lines.ts';
import { IDENTITY, type MediaOptions, type MediaParts, SECRET } from './media-options.ts';

interface LoggedLine extends LogFields {
  readonly status: number;
  readonly left: boolean;
}

interface CallOptions extends Omit<RequestInit, 'headers'> {
  readonly keyId?: string;
  readonly headers?: Record<string, string>;
}

/** A media service and, if wanted, its worker, in this process, before a stand-in provider and a real Redis. */
export async function startMedia<Kind extends JobKind>(options: MediaOptions<Kind>) {
  const { name, kinds, maxWaiting, configuration } = options;
  const startedAtMs = Date.now();
  const resources = new AsyncDisposableStack();
  const own = <T extends { close(): unknown }>(resource: T): T =>
    resources.adopt(resource, async (owned) => {
      await owned.close();
    });
  const redis = own(await startRedis());
  const folder = own(await temporaryFolder());
  const simulator = own(await startSimulator());
  const configure = (url: string) => parseConfiguration(configuration(url), 'gateway.yaml', {});
  const upstream = own(createUpstream({ configuration: configure(simulator.url) }));
  const { uploads, assets } = own(await openJobStores({ ...options.files, dataDir: folder.path }));
  const clock = { offsetMs: 0 };
  const now = () => Date.now() + clock.offsetMs;
  const identities = new Map<string, Partial<Identity> | null>();
  /** Every key works that is not listed as revoked. */
  const readIdentity: ReadKeyIdentity = async (keyId) => {
    const own = identities.get(keyId);
    return own === null ? undefined : { ...IDENTITY, keyId, ...own };
  };
  const troubles: unknown[] = [];
  const onError = (error: unknown) => void troubles.push(error);
  const metrics = createMetrics(name);
  const jobMetrics = createJobMetrics(metrics);
  const load = createLoadGuard({
    settings: parseConfig(LoadSettings, {}),
    process: createProcessLoad(),
    metrics,
    onShed: () => undefined,
  });
  const meterRedis = resources.adopt(createRedis(redis.url, 'request'), (opened) => opened.disconnect());
  meterRedis.on('error', () => undefined);
  await meterRedis.connect();
  const refusals = own(createRefusalCounts({ redis: meterRedis, now: Date.now, keepSumsDays: 1 }));
  const meter = own(
    await openMeter({
      redis: meterRedis,
      settings: {
        GATEWAY_DATA_DIR: folder.path,
        GATEWAY_TIME_ZONE: 'UTC',
        USAGE_RECORDS_DAYS: 1,
      },
      metrics,
      refusals,
      now: Date.now,
      report: (problem) => void troubles.push(problem),
    }),
  );
  // A job is reported a little after its caller has the answer: one of an earlier test must not count for a later one.
  let resets = 0;
  const settledAfter = new Map<string, number>();
  const settle: SettleJob = (subject, result) => {
    settledAfter.set(subject.id, resets);
    return meter.resume(subject).settle(result);
  };
  const contentLog = own(
    createContentLog({
      configuration: () => upstream.configuration,
      dataDir: folder.path,
      openStores: async () => openContentStores(await openAssetStores({ url: folder.path })),
      now,
      createMetrics: (spool) => createContentMetrics(metrics, spool),
      report: onError,
    }),
  );
  const openQueue = async () =>
    own(
      await createJobQueue({
        redisUrl: redis.url,
        kinds,
        maxWaiting,
        maxResultBytes: 1_000_000_000,
        uploads,
        assets,
        settle,
        now: Date.now,
        onError,
      }),
    );
  const queue = await openQueue();
  const jobs: FinishedJob[] = [];
  const startWorker = async ({ takeover }: Pick<JobWorkerOptions, 'takeover'> = {}) => {
    const open = async (processors: JobProcessors) => {
      const worker = await createJobWorker({
        redisUrl: redis.url,
        processors,
        concurrency: 4,
        uploads,
        assets,
        settle,
        onFinished: (job) => {
          if ((settledAfter.get(job.jobId) ?? resets) === resets) jobs.push(job);
        },
        onError,
        ...(takeover && { takeover }),
      });
      return resources.adopt(worker, (owned) => owned.close({ drainTimeoutMs: 0 }));
    };
    const workers = await Promise.all(
      processorsByQueue(options.processors({ upstream, contentLog, assets, uploads, now })).map(open),
    );
    return {
      close: async (closing: { drainTimeoutMs: number }) => {
        await Promise.all(workers.map((worker) => worker.close(closing)));
      },
      get running() {
        return workers.reduce((sum, { running }) => sum + running, 0);
      },
    };
  };

  const lines: LoggedLine[] = [];
  const observe: RequestLog['observe'] = (_request, response, context) => {
    response.once('close', () =>
      lines.push({
        ...context.line,
        status: response.statusCode,
        error: context.failure?.code,
        left: !response.writableFinished && context.failure === undefined,
      }),
    );
  };
  const deadline = new AbortController();
  /** One replica of the service. */
  const startReplica = async (ownQueue: JobQueue<Kind>) => {
    let app: RequestListener | undefined;
    // No idle connection is closed while a test, busy elsewhere, is about to use it again.
    const server = createServer({ keepAliveTimeout: 600_000 }, (request, response) =>
      app?.(request, response),
    ).listen(0, '127.0.0.1');
    await once(server, 'listening');
    resources.defer(async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    const address = server.address();
    if (typeof address !== 'object' || address === null) throw new Error('not listening');
    const url = `http://127.0.0.1:${address.port}`;
    const parts: MediaParts<Kind> = {
      readiness: createReadiness(),
      metrics,
      jobMetrics,
      requestLog: { begin: () => () => undefined, observe, count: observe },
      verifyIdentity: createIdentityVerifier({ secret: SECRET, now: Date.now }),
      deadline: deadline.signal,
      load,
      upstream,
      queue: ownQueue,
      meter,
      contentLog,
      assets,
      uploads,
      publicUrl: url,
      secret: SECRET,
      readIdentity,
      now,
    };
    app = options.service(parts).app;
    resources.adopt(
      await createJobWorker({
        redisUrl: redis.url,
        processors: options.batchProcessors(parts),
        concurrency: 4,
        uploads,
        assets,
        onFinished: (job) => void jobs.push(job),
        onError,
      }),
      (owned) => owned.close({ drainTimeoutMs: 0 }),
    );
    return { url, server };
  };
  const { url, server } = await startReplica(queue);
  const sign = createIdentitySigner({ secret: SECRET, now: Date.now });
  const headersFor = (identity: Partial<Identity> = {}) => ({
    'x-gateway-identity': sign({ ...IDENTITY, ...identity }),
  });

  return {
    url,
    server,
    dataDir: folder.path,
    redis,
    assets,
    simulator,
    queue,
    jobs,
    lines,
    clock,
    troubles,
    /** What keys may do when lines of their batches are taken; null for one that is gone. */
    identities,
    deadline,
    meterRedis,
    /** A second replica, with a queue of its own; resolves to its URL. */
    startReplica: async () => (await startReplica(await openQueue())).url,
    /** What has been accounted for a key, once there are so many records. */
    accounted: (keyId: string, count: number) =>
      waitFor(async () => {
        const range = { fromMs: startedAtMs, toMs: Date.now() + 60_000 };
        const records = (await unrecordedRecords(meterRedis, range)).filter((one) => one.keyId === keyId);
        return records.length >= count && records;
      }),
    startWorker,
    /** The lines of the content log about a request, once there are so many. */
    logged: (requestId: string, count = 1) => loggedLines(folder.path, requestId, count),
    /** What the edge sends along for a caller's key. */
    headersFor,
    /** A request with a key's identity. */
    call: (path: string, { keyId = IDENTITY.keyId, headers, ...init }: CallOptions = {}) =>
      fetch(new URL(path, url), { ...init, headers: { ...headersFor({ keyId }), ...headers } }),
    /** What lies in the uploads area. */
    uploaded: () => readdir(uploads.folder),
    assetFiles: () => readdir(join(folder.path, 'assets')),
    /** Uploads are deleted when the job has ended, a moment after the caller has heard. */
    nothingLeft: () =>
      waitFor(async () => (await readdir(uploads.folder)).length === 0, { what: 'an empty uploads area' }),
    /** From now on the channels lead to another provider. */
    useProvider: (provider: string) => upstream.replace(configure(provider)),
    lastLine: (count = 1) => waitFor(() => lines.length >= count && lines.at(-1)),
    reset: () => {
      simulator.reset();
      lines.length = 0;
      jobs.length = 0;
      resets += 1;
      clock.offsetMs = 0;
    },
    close: () => resources.disposeAsync(),
  };
}
