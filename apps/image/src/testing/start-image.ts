import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import type { Identity } from '@gateway/contracts/identity';
import type { UsageRecord } from '@gateway/contracts/usage-record';
import { openAssetStore } from '@gateway/jobs/asset-store';
import type { FinishedJob } from '@gateway/jobs/finished-job';
import type { SettleJob } from '@gateway/jobs/job-metering';
import { createJobQueue } from '@gateway/jobs/job-queue';
import { createJobWorker, type JobWorkerOptions } from '@gateway/jobs/job-worker';
import { openUploadStore } from '@gateway/jobs/upload-store';
import { openMeter } from '@gateway/metering/meter/open-meter';
import { createRequestRedis } from '@gateway/metering/request-redis';
import { usageRecords } from '@gateway/metering/usage/usage-records';
import { createIdentitySigner, createIdentityVerifier } from '@gateway/service-kit/identity-token';
import { createMetrics } from '@gateway/service-kit/metrics';
import { createReadiness } from '@gateway/service-kit/readiness';
import type { LogFields } from '@gateway/service-kit/request-context';
import type { RequestLog } from '@gateway/service-kit/request-log';
import { startSimulator } from '@gateway/simulator/start-simulator';
import { startRedis } from '@gateway/testkit/start-redis';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { waitFor } from '@gateway/testkit/wait-for';
import { parseConfiguration } from '@gateway/upstream/configuration/parse-configuration';
import { createUpstream } from '@gateway/upstream/upstream';
import OpenAI from 'openai';
import { createImageService } from '../app.ts';
import type { ReferenceFetching } from '../form/store-references.ts';
import { imageActs } from '../making/make-images.ts';

export const SECRET = 'a secret that only these tests know of';
const IDENTITY: Identity = {
  keyId: 'key_1',
  keyName: 'test',
  team: null,
  models: null,
  endpoints: null,
  accounts: [],
};

/** Channels to the stand-in provider, under keys of their own. */
export const configurationText = (url: string) => `
channels:
  one: { provider: simulator, baseUrl: "${url}", apiKey: sk-one }
  two: { provider: simulator, baseUrl: "${url}", apiKey: sk-two }
  flux: { provider: black-forest-labs, baseUrl: "${url}/v1", apiKey: sk-secret-of-black-forest-labs }
  google: { provider: google, baseUrl: "${url}/v1beta", apiKey: sk-secret-of-google }
models:
  flux-task: { kind: image, price: { perImage: 0.04 }, routes: [{ channel: flux, model: flux-pro-1.1 }] }
  nano-banana: { kind: image, price: { inputPerMTok: 0.3, outputPerMTok: 30 }, routes: [{ channel: google, model: gemini-2.5-flash-image }] }
  dall-e-2: { kind: image, price: { perImage: { 256x256: 0.016, 512x512: 0.018, 1024x1024: 0.02 } }, routes: [{ channel: one }, { channel: two, priority: 1 }] }
  dall-e-3: { kind: image, price: { perImage: { standard: 0.04, hd: 0.08 } }, routes: [{ channel: one }, { channel: two, priority: 1 }] }
  "gpt-image-*": { kind: image, price: { inputPerMTok: 5, outputPerMTok: 40 }, routes: [{ channel: one }] }
  chatgpt-image-latest: { kind: image, routes: [{ channel: one }] }
  old-name: { kind: image, family: dall-e-3, routes: [{ channel: one, model: gpt-image-2 }] }
  my-deployment: { kind: image, family: dall-e-3, routes: [{ channel: one, model: painter }] }
  flux-pro: { kind: image, routes: [{ channel: one }] }
  keeps-transparent:
    kind: image
    family: gpt-image
    routes: [{ channel: one, model: gpt-image-1.5, maskTransparent: preserve }]
  own-rules:
    kind: image
    family: { sizes: [64x64], qualities: [rough], promptMaxChars: 10, maxN: 2, maxInputImages: 2, defaultResponseFormat: b64_json, acceptsResponseFormat: false }
    routes: [{ channel: one }]
  chat-model: { kind: text, routes: [{ channel: one }] }
`;

interface LoggedLine extends LogFields {
  readonly status: number;
  readonly left: boolean;
}

interface StartOptions {
  readonly maxWaiting?: number;
  readonly jsonMaxBytes?: number;
  readonly fetching?: ReferenceFetching;
}

const NO_FETCHING: ReferenceFetching = { privateOrigins: [], timeoutMs: 10_000 };

export type TestImage = Awaited<ReturnType<typeof startImage>>;

/** The image service and, if wanted, its worker, in this process, before a stand-in provider and a real Redis. */
export async function startImage({
  maxWaiting = 1000,
  jsonMaxBytes = 1_000_000,
  fetching = NO_FETCHING,
}: StartOptions = {}) {
  const startedAtMs = Date.now();
  const resources = new AsyncDisposableStack();
  const own = <T extends { close(): unknown }>(resource: T): T =>
    resources.adopt(resource, async (owned) => {
      await owned.close();
    });
  const redis = own(await startRedis());
  const folder = own(await temporaryFolder());
  const simulator = own(await startSimulator());
  const upstream = own(
    createUpstream({
      configuration: parseConfiguration(configurationText(simulator.url), 'gateway.yaml', {}),
    }),
  );
  const uploads = await openUploadStore(folder.path);
  const assets = await openAssetStore(folder.path);
  const clock = { offsetMs: 0 };
  const now = () => Date.now() + clock.offsetMs;
  const troubles: unknown[] = [];
  const onError = (error: unknown) => void troubles.push(error);
  const metrics = createMetrics('image');
  const meterRedis = resources.adopt(createRequestRedis(redis.url), (opened) => opened.disconnect());
  meterRedis.on('error', () => undefined);
  await meterRedis.connect();
  const meter = own(
    await openMeter({
      redis: meterRedis,
      settings: {
        GATEWAY_DATA_DIR: folder.path,
        GATEWAY_TIME_ZONE: 'UTC',
        USAGE_RECORDS_DAYS: 1,
        USAGE_SUMS_DAYS: 1,
      },
      metrics,
      now: Date.now,
      report: (problem) => void troubles.push(problem),
    }),
  );
  // A job is told of a little after its caller has the answer: one of an earlier test must not count for a later one.
  let resets = 0;
  const settledAfter = new Map<string, number>();
  const settle: SettleJob = (subject, result) => {
    settledAfter.set(subject.id, resets);
    return meter.resume(subject).settle(result);
  };
  const queue = own(
    await createJobQueue({
      redisUrl: redis.url,
      kinds: ['image.generation', 'image.edit'],
      maxWaiting,
      uploads,
      assets,
      settle,
      now: Date.now,
      onError,
    }),
  );
  const jobs: FinishedJob[] = [];
  const startWorker = async ({ takeover }: Pick<JobWorkerOptions, 'takeover'> = {}) => {
    const worker = await createJobWorker({
      redisUrl: redis.url,
      acts: imageActs({ upstream, assets, uploads, now }),
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
    resources.adopt(worker, (owned) => owned.close({ drainTimeoutMs: 0 }));
    return worker;
  };

  const lines: LoggedLine[] = [];
  const requestLog: RequestLog = {
    observe: (_request, response, context) => {
      response.once('close', () =>
        lines.push({
          ...context.line,
          status: response.statusCode,
          error: context.failure?.code,
          left: !response.writableFinished && context.failure === undefined,
        }),
      );
    },
  };
  const deadline = new AbortController();
  // The service must know where it is before it is asked for the first URL, which is when it is listening.
  const place = { url: '' };
  const { app } = createImageService({
    readiness: createReadiness(),
    metrics,
    requestLog,
    verifyIdentity: createIdentityVerifier({ secret: SECRET, now: Date.now }),
    deadline: deadline.signal,
    upstream,
    queue,
    meter,
    assets,
    uploads,
    get publicUrl() {
      return place.url;
    },
    secret: SECRET,
    jsonMaxBytes,
    editJsonMaxBytes: 4_000_000,
    fetching,
    maxJsonDepth: 128,
    now,
  });
  // No idle connection is closed while a test, busy elsewhere, is about to use it again.
  const server = createServer({ keepAliveTimeout: 600_000 }, app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  resources.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('not listening');
  place.url = `http://127.0.0.1:${address.port}`;
  const sign = createIdentitySigner({ secret: SECRET, now: Date.now });
  const headersFor = (identity: Partial<Identity> = {}) => ({
    'x-gateway-identity': sign({ ...IDENTITY, ...identity }),
  });

  return {
    url: place.url,
    dataDir: folder.path,
    redis,
    assets,
    simulator,
    queue,
    jobs,
    lines,
    clock,
    troubles,
    deadline,
    meterRedis,
    /** What has been accounted for a key, once there are so many records. */
    accounted: (keyId: string, count: number) =>
      waitFor(async () => {
        const records: UsageRecord[] = [];
        const nowMs = Date.now();
        for await (const record of usageRecords(meterRedis, { fromMs: startedAtMs, toMs: nowMs + 60_000 }))
          if (record.keyId === keyId) records.push(record);
        return records.length >= count && records;
      }),
    startWorker,
    headersFor,
    client: new OpenAI({
      apiKey: 'unused',
      baseURL: `${place.url}/v1`,
      maxRetries: 0,
      defaultHeaders: headersFor(),
    }),
    generate: (body: unknown, init: RequestInit = {}) =>
      fetch(`${place.url}/v1/images/generations`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headersFor() },
        body: JSON.stringify(body),
        ...init,
      }),
    edit: (parts: Iterable<readonly [string, string | File]>, init: RequestInit = {}) => {
      const body = new FormData();
      for (const [name, value] of parts) body.append(name, value);
      return fetch(`${place.url}/v1/images/edits`, { method: 'POST', headers: headersFor(), body, ...init });
    },
    uploaded: () => readdir(uploads.folder),
    assetFiles: () => readdir(join(folder.path, 'assets')),
    /** Uploads are deleted when the job has ended, a moment after the caller has heard. */
    nothingLeft: () =>
      waitFor(async () => (await readdir(uploads.folder)).length === 0, { what: 'an empty uploads area' }),
    /** From now on the channels lead to another provider. */
    useProvider: (url: string) =>
      upstream.replace(parseConfiguration(configurationText(url), 'gateway.yaml', {})),
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
