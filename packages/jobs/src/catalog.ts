import type { ErrorCode } from '@gateway/contracts/error-codes';
import {
  BatchInput,
  BatchOutput,
  ImageEditInput,
  ImageGenerationInput,
  ImageOutput,
  type JobKind,
  SpeechInput,
  SpeechOutput,
  TranscriptionInput,
  TranscriptionOutput,
} from '@gateway/contracts/jobs';
import { JOB_WAIT_LIMIT_MS } from '@gateway/contracts/time-limits';
import type { z } from 'zod';

interface Payloads {
  'image.generation': { input: ImageGenerationInput; output: ImageOutput };
  'image.edit': { input: ImageEditInput; output: ImageOutput };
  'audio.transcription': { input: TranscriptionInput; output: TranscriptionOutput };
  'audio.speech': { input: SpeechInput; output: SpeechOutput };
  'image.batch': { input: BatchInput; output: BatchOutput };
  'audio.batch': { input: BatchInput; output: BatchOutput };
}
export type JobInput<Kind extends JobKind> = Payloads[Kind]['input'];
export type JobOutput<Kind extends JobKind> = Payloads[Kind]['output'];

/** After which failures an attempt is followed by another, and how soon. */
export interface RetryRules {
  /** The work certainly did not begin, unless the error itself says that it must not be repeated. */
  readonly notBegun: ReadonlySet<ErrorCode>;
  /** It may have been done: only for work that costs nothing. */
  readonly mayHaveBegun: ReadonlySet<ErrorCode>;
  /** Before the second attempt; it doubles with each one. */
  readonly firstDelayMs: number;
  /** A caller waits: one who would have to wait longer is better told so. */
  readonly maxDelayMs: number;
}

/** What is known of a kind of job before one is made. */
export interface JobSpec<Kind extends JobKind = JobKind> {
  /** Kinds with the same queue wait in one line and share its workers' places. */
  readonly queue: string;
  readonly input: z.ZodType<JobInput<Kind>>;
  readonly output: z.ZodType<JobOutput<Kind>>;
  /** Ids of the uploads that the job reads; they are deleted when it has ended. */
  readonly uploadsOf: (input: JobInput<Kind>) => string[];
  /** Ids of the assets that its output names; they go with it. */
  readonly assetsOf: (output: JobOutput<Kind>) => string[];
  /** What a worker holds of it in memory at most, as estimated before it begins. */
  readonly bytesOf: (input: JobInput<Kind>) => number;
  /** `paid` work is never begun twice; `free` work may be repeated after a worker's death. */
  readonly work: 'paid' | 'free';
  /** How often it is tried at most. */
  readonly attempts: number;
  readonly retry: RetryRules;
  /** How often it is taken over from a worker that fell silent; `paid` work only to look for its result. */
  readonly takeovers: number;
  /** One attempt, from start to end. */
  readonly timeLimitMs: number;
  /** How long a caller is held, from enqueue to end. */
  readonly waitLimitMs: number;
  /** How long a job may wait that goes on without its caller. */
  readonly queueLimitMs: number;
  /** How many one worker process runs at a time, unless it is told otherwise. */
  readonly concurrency: number;
  /** How long the result is kept. That there was one is remembered twice as long. */
  readonly resultRetentionSeconds: number;
}

const MINUTE_MS = 60_000;
const MEBIBYTE = 1024 * 1024;

const NOT_BEGUN: ReadonlySet<ErrorCode> = new Set([
  'upstream_failed',
  'upstream_overloaded',
  'upstream_rate_limited',
  'upstream_unreachable',
  'no_available_channel',
]);
const BACKOFF = { firstDelayMs: 500, maxDelayMs: 5000 } as const;

/** Of an image in a reply, in base64. */
const MAX_IMAGE_BYTES = 12 * MEBIBYTE;
const MAX_IMAGES = 10;

/** What a reply with so many images holds at most. `n` comes from the caller. */
function imageBytes(n: unknown): number {
  const count = Number(n ?? 1);
  return MAX_IMAGE_BYTES * (Number.isInteger(count) && count >= 1 ? Math.min(count, MAX_IMAGES) : 1);
}
const DAY_SECONDS = 86_400;

const kept = { queueLimitMs: DAY_SECONDS * 1000, resultRetentionSeconds: DAY_SECONDS } as const;

const image = {
  queue: 'image',
  output: ImageOutput,
  assetsOf: ({ images, partialAssetIds = [] }: ImageOutput) => [
    ...images.map(({ assetId }) => assetId),
    ...partialAssetIds,
  ],
  work: 'paid',
  attempts: 2,
  retry: { notBegun: NOT_BEGUN, mayHaveBegun: new Set<ErrorCode>(), ...BACKOFF },
  takeovers: 3,
  timeLimitMs: 10 * MINUTE_MS,
  waitLimitMs: JOB_WAIT_LIMIT_MS,
  concurrency: 8,
  ...kept,
} as const;

const HOUR_MS = 60 * MINUTE_MS;

/** One that takes jobs from a file; it runs in a service, and costs nothing by itself. */
const batch = {
  input: BatchInput,
  output: BatchOutput,
  uploadsOf: ({ fileId }: BatchInput) => [fileId],
  assetsOf: ({ linesId }: BatchOutput) => [linesId],
  bytesOf: () => MEBIBYTE,
  work: 'free',
  attempts: 3,
  retry: { notBegun: NOT_BEGUN, mayHaveBegun: new Set<ErrorCode>(['service_unavailable']), ...BACKOFF },
  takeovers: 1000,
  // It ends by itself a day after it was made.
  timeLimitMs: 25 * HOUR_MS,
  waitLimitMs: JOB_WAIT_LIMIT_MS,
  concurrency: 64,
  ...kept,
} as const;

/** Every kind of job. */
export const JOBS: { readonly [Kind in JobKind]: JobSpec<Kind> } = {
  'image.generation': {
    ...image,
    input: ImageGenerationInput,
    uploadsOf: () => [],
    bytesOf: ({ parameters }) => imageBytes(parameters.n),
  },
  'image.edit': {
    ...image,
    input: ImageEditInput,
    uploadsOf: ({ images, mask }) =>
      [...images, ...(mask ? [mask] : [])].flatMap((file) => ('uploadId' in file ? file.uploadId : [])),
    bytesOf: ({ fields }) => imageBytes(fields.find(([name]) => name === 'n')?.[1]),
  },
  'audio.transcription': {
    queue: 'transcription',
    input: TranscriptionInput,
    output: TranscriptionOutput,
    uploadsOf: ({ file }) => [file.uploadId],
    assetsOf: () => [],
    // Files are streamed; transcripts are bounded.
    bytesOf: () => MEBIBYTE,
    work: 'free',
    attempts: 3,
    retry: {
      notBegun: NOT_BEGUN,
      mayHaveBegun: new Set<ErrorCode>(['upstream_timeout', 'outcome_unknown']),
      ...BACKOFF,
    },
    takeovers: 2,
    timeLimitMs: 10 * MINUTE_MS,
    waitLimitMs: JOB_WAIT_LIMIT_MS,
    concurrency: 8,
    ...kept,
  },
  'audio.speech': {
    queue: 'speech',
    input: SpeechInput,
    output: SpeechOutput,
    uploadsOf: () => [],
    assetsOf: ({ assetId }) => [assetId],
    // It is streamed into the store.
    bytesOf: () => MEBIBYTE,
    work: 'paid',
    attempts: 2,
    retry: { notBegun: NOT_BEGUN, mayHaveBegun: new Set<ErrorCode>(), ...BACKOFF },
    takeovers: 3,
    timeLimitMs: 10 * MINUTE_MS,
    waitLimitMs: JOB_WAIT_LIMIT_MS,
    concurrency: 8,
    ...kept,
  },
  'image.batch': { ...batch, queue: 'image-batch' },
  'audio.batch': { ...batch, queue: 'audio-batch' },
};

/** The longest that a job lives: for how long what was reserved for it stands, unless somebody settles it. */
export function longestLifeMs(kind: JobKind, { isDetached }: { isDetached: boolean }): number {
  const { waitLimitMs, queueLimitMs, timeLimitMs } = JOBS[kind];
  return (isDetached ? queueLimitMs : waitLimitMs) + timeLimitMs;
}
