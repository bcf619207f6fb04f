import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import ffmpeg from '@ffmpeg-installer/ffmpeg';
import { Identity } from '@gateway/contracts/identity';
import type { UsageRecord } from '@gateway/contracts/usage-record';
import { openAssetStore } from '@gateway/jobs/asset-store';
import type { FinishedJob } from '@gateway/jobs/finished-job';
import type { SettleJob } from '@gateway/jobs/job-metering';
import { createJobQueue } from '@gateway/jobs/job-queue';
import { createJobWorker } from '@gateway/jobs/job-worker';
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
import { createAudioService } from '../app.ts';
import type { LongAudio } from '../transcriptions/long-audio/transcribe-parts.ts';
import { transcribe } from '../transcriptions/transcribe.ts';

const SECRET = 'a secret that only these tests know of';
const IDENTITY = Identity.parse({
  keyId: 'key_1',
  keyName: 'test',
  team: null,
  models: null,
  endpoints: null,
  accounts: [],
});

/** Two channels to the stand-in provider, under keys of their own. */
const CONFIGURATION = (url: string) => `
channels:
  one: { provider: simulator, baseUrl: "${url}", apiKey: sk-one }
  two: { provider: simulator, baseUrl: "${url}", apiKey: sk-two }
  eleven: { provider: elevenlabs, baseUrl: "${url}", apiKey: sk-secret-of-elevenlabs }
  deepgram: { provider: deepgram, baseUrl: "${url}", apiKey: sk-secret-of-deepgram }
  google: { provider: google, baseUrl: "${url}/v1beta", apiKey: sk-secret-of-google }
models:
  eleven-voice: { kind: speech, price: { perMillionChars: 100 }, routes: [{ channel: eleven, model: eleven_multilingual_v2 }] }
  gemini-voice: { kind: speech, price: { outputPerMTok: 10 }, routes: [{ channel: google, model: gemini-2.5-flash-preview-tts }] }
  scribe: { kind: transcription, routes: [{ channel: eleven, model: scribe_v2 }] }
  nova: { kind: transcription, price: { perMinute: 0.006 }, routes: [{ channel: deepgram, model: nova-3 }] }
  tts-1: { kind: speech, price: { perMillionChars: 15 }, routes: [{ channel: one }] }
  gpt-4o-mini-tts: { kind: speech, price: { perMillionChars: 12, outputPerMTok: 12 }, routes: [{ channel: one }, { channel: two, priority: 1 }] }
  renamed-tts: { kind: speech, routes: [{ channel: one, model: gpt-4o-mini-tts }] }
  own-voices: { kind: speech, routes: [{ channel: one, model: parler, voices: [anna, ben] }] }
  more-voices: { kind: speech, routes: [{ channel: one, model: tts-1, voices: [anna] }] }
  events-only: { kind: speech, price: { outputPerMTok: 12 }, routes: [{ channel: one, streamFormats: [sse] }] }
  kokoro: { kind: speech, routes: [{ channel: one }] }
  whisper-1: { kind: transcription, price: { perMinute: 0.006 }, routes: [{ channel: one }, { channel: two, priority: 1 }] }
  gpt-4o-transcribe: { kind: transcription, price: { inputPerMTok: 2.5, outputPerMTok: 10 }, routes: [{ channel: one }] }
  gpt-transcribe: { kind: transcription, routes: [{ channel: one }] }
  gpt-4o-transcribe-diarize: { kind: transcription, routes: [{ channel: one }] }
  any-whisper: { kind: transcription, routes: [{ channel: one }] }
  verbose-only: { kind: transcription, routes: [{ channel: one, model: whisper-1, formats: [verbose_json] }] }
  short-whisper: { kind: transcription, price: { perMinute: 0.006 }, routes: [{ channel: one, model: whisper-1, maxAudioSeconds: 4 }] }
  small-whisper: { kind: transcription, routes: [{ channel: one, model: whisper-1, maxFileBytes: 148384 }] }
  short-4o: { kind: transcription, price: { inputPerMTok: 2.5, outputPerMTok: 10 }, routes: [{ channel: one, model: gpt-4o-transcribe, maxAudioSeconds: 4 }] }
  short-diarize: { kind: transcription, routes: [{ channel: one, model: gpt-4o-transcribe-diarize, maxAudioSeconds: 4 }] }
  short-then-long: { kind: transcription, routes: [{ channel: one, model: whisper-1, maxAudioSeconds: 4 }, { channel: two, model: whisper-1, priority: 1 }] }
  own-parakeet: { kind: transcription, routes: [{ channel: one, formats: [json, text] }] }
  chat-model: { kind: text, routes: [{ channel: one }] }
`;

export interface LoggedLine extends LogFields {
  readonly status: number;
  readonly left: boolean;
}

interface StartOptions {
  readonly fileMaxBytes?: number;
  readonly maxWaiting?: number;
  readonly longAudio?: LongAudio;
}

export const LONG_AUDIO: LongAudio = {
  ffmpeg: { program: ffmpeg.path, searchPath: '' },
  maxSeconds: 60,
  partsAtOnce: 2,
};

export type TestAudio = Awaited<ReturnType<typeof startAudio>>;

/** The audio service and, if wanted, its worker, in this process, before a stand-in provider and a real Redis. */
export async function startAudio({
  fileMaxBytes = 26_214_400,
  maxWaiting = 1000,
  longAudio = LONG_AUDIO,
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
    createUpstream({ configuration: parseConfiguration(CONFIGURATION(simulator.url), 'gateway.yaml', {}) }),
  );
  const uploads = await openUploadStore(folder.path);
  const assets = await openAssetStore(folder.path);
  const troubles: unknown[] = [];
  const onError = (error: unknown) => void troubles.push(error);
  const metrics = createMetrics('audio');
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
      kinds: ['audio.transcription'],
      maxWaiting,
      uploads,
      assets,
      settle,
      now: Date.now,
      onError,
    }),
  );
  const jobs: FinishedJob[] = [];
  const startWorker = async () => {
    const worker = await createJobWorker({
      redisUrl: redis.url,
      acts: { 'audio.transcription': transcribe({ upstream, uploads, longAudio }) },
      concurrency: 4,
      uploads,
      assets,
      settle,
      onFinished: (job) => {
        if ((settledAfter.get(job.jobId) ?? resets) === resets) jobs.push(job);
      },
      onError,
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
  const { app } = createAudioService({
    readiness: createReadiness(),
    metrics,
    requestLog,
    verifyIdentity: createIdentityVerifier({ secret: SECRET, now: Date.now }),
    deadline: deadline.signal,
    upstream,
    queue,
    meter,
    uploads,
    jsonMaxBytes: 1_000_000,
    maxJsonDepth: 128,
    fileMaxBytes,
    now: Date.now,
  });
  // No idle connection is closed while a test, busy elsewhere, is about to use it again.
  const server = createServer({ keepAliveTimeout: 600_000 }, app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  resources.defer(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
  const sign = createIdentitySigner({ secret: SECRET, now: Date.now });
  const headersFor = (identity: Partial<Identity> = {}) => ({
    'x-gateway-identity': sign({ ...IDENTITY, ...identity }),
  });

  return {
    url,
    redis,
    simulator,
    queue,
    jobs,
    lines,
    troubles,
    deadline,
    server,
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
    /** The official client, as the edge would pass its requests on. */
    openai: new OpenAI({
      apiKey: 'sk-unused',
      baseURL: `${url}/v1`,
      maxRetries: 0,
      defaultHeaders: headersFor(),
    }),
    /** What lies in the uploads area. */
    uploaded: () => readdir(uploads.folder),
    /** Uploads are deleted when the job has ended, a moment after the caller has heard. */
    nothingLeft: () =>
      waitFor(async () => (await readdir(uploads.folder)).length === 0, { what: 'an empty uploads area' }),
    /** From now on the channels lead to another provider. */
    useProvider: (url: string) =>
      upstream.replace(parseConfiguration(CONFIGURATION(url), 'gateway.yaml', {})),
    lastLine: (count = 1) => waitFor(() => lines.length >= count && lines.at(-1)),
    reset: () => {
      simulator.reset();
      lines.length = 0;
      jobs.length = 0;
      resets += 1;
    },
    close: () => resources.disposeAsync(),
  };
}
