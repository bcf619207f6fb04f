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
  TextBatchInput,
  TextBatchOutput,
  TextResponseInput,
  TextResponseOutput,
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
  'text.response': { input: TextResponseInput; output: TextResponseOutput };
  'image.batch': { input: BatchInput; output: BatchOutput };
  'audio.batch': { input: BatchInput; output: BatchOutput };
  'text.batch': { input: TextBatchInput; output: TextBatchOutput };
}
export type JobInput<Kind extends JobKind> = Payloads[Kind]['input'];
export type JobOutput<Kind extends JobKind> = Payloads[Kind]['output'];

/** Something that a job has stored. */
export interface KeptAsset {
  readonly id: string;
  readonly sizeBytes: number;
}

/** The failures after which a job is tried again, and how soon. */
export interface RetryRules {
  /** The work certainly did not begin, unless the error itself forbids a repetition. */
  readonly notBegun: ReadonlySet<ErrorCode>;
  /** It may have been done: only for work that costs nothing. */
  readonly mayHaveBegun: ReadonlySet<ErrorCode>;
  /** The wait before the second attempt. It doubles with each attempt. */
  readonly firstDelayMs: number;
  /** The longest wait, because a caller waits too. Instead of a longer one, the caller gets an error at once. */
  readonly maxDelayMs: number;
}

/** What is known of a kind of job before one is made. */
export interface JobSpec<Kind extends JobKind = JobKind> {
  /** Kinds with the same queue wait in one line and share its workers' slots. */
  readonly queue: string;
  readonly input: z.ZodType<JobInput<Kind>>;
  readonly output: z.ZodType<JobOutput<Kind>>;
  /** Ids of the uploads that the job reads. They are deleted after its end. */
  readonly uploadsOf: (input: JobInput<Kind>) => string[];
  /** The assets that an output names. They are deleted with the output. */
  readonly assetsOf: (output: JobOutput<Kind>) => KeptAsset[];
  /** What it emits is little: it stays for other readers when its caller has read it. What a detached job emits always does. */
  readonly keepsTexts: boolean;
  /** How much memory a worker needs for it at most, in bytes, as estimated before it begins. */
  readonly bytesOf: (input: JobInput<Kind>) => number;
  /** `paid` work is never begun twice; `free` work may be repeated after a worker's death. */
  readonly work: 'paid' | 'free';
  /** How often it is tried at most. */
  readonly attempts: number;
  readonly retry: RetryRules;
  /** How often another worker takes it over from one that fell silent. For `paid` work, only to look for its result. */
  readonly takeovers: number;
  /** One attempt, from start to end. */
  readonly timeLimitMs: number;
  /** How long it may take to end when it has been cancelled. Absent: as a worker that stops waits for it. */
  readonly cancelGraceMs?: number;
  /** How long a caller is held, from enqueue to end. */
  readonly waitLimitMs: number;
  /** How long a detached job may wait. */
  readonly queueLimitMs: number;
  /** How many of these one worker process runs at a time. A setting may change this. */
  readonly concurrency: number;
  /**
   * How many of these a key has at work at a time, counted apart from its other jobs; absent: they count with those. Jobs that make jobs
   * have this, because they would wait for each other if they counted with the jobs that they make.
   */
  readonly ofOneKey?: number;
  /** How many of these may wait for somebody outside beside those at work (`JobContext.aside`). Absent: none. */
  readonly asideOfOneKey?: number;
  /** How long a result is kept that nobody has fetched. The gateway remembers for twice as long that there was one. */
  readonly resultRetentionSeconds: number;
}

const MINUTE_MS = 60_000;
const MEBIBYTE = 1024 * 1024;

/** Errors of work that has certainly not begun, and costs nothing. */
export const NOT_BEGUN: ReadonlySet<ErrorCode> = new Set([
  'upstream_failed',
  'upstream_overloaded',
  'upstream_rate_limited',
  'upstream_unreachable',
  'no_available_channel',
  // Redis, or the store of the job's files.
  'service_unavailable',
]);
const BACKOFF = { firstDelayMs: 500, maxDelayMs: 5000 } as const;

/** For images that are stored while their reply arrives: the bytes on their way, in each direction. */
const STREAMED_BYTES = 16 * MEBIBYTE;
/** For images that arrive as events: one event, as bytes and as text, and its image. */
const EVENT_BYTES = 40 * MEBIBYTE;

const imageBytes = ({ stream }: { readonly stream?: boolean | undefined }): number =>
  stream ? EVENT_BYTES : STREAMED_BYTES;
const DAY_SECONDS = 86_400;

/** One attempt at media: longer than a channel's time limits allow by default, with what is fetched and stored afterwards. */
const MEDIA_TIME_LIMIT_MS = 15 * MINUTE_MS;

const kept = { queueLimitMs: DAY_SECONDS * 1000, resultRetentionSeconds: DAY_SECONDS } as const;
const HOUR_MS = 60 * MINUTE_MS;

const image = {
  queue: 'image',
  output: ImageOutput,
  keepsTexts: true,
  assetsOf: ({ images, partialImages = [] }: ImageOutput) =>
    [...images, ...partialImages].map(({ assetId: id, sizeBytes }) => ({ id, sizeBytes })),
  work: 'paid',
  attempts: 2,
  retry: { notBegun: NOT_BEGUN, mayHaveBegun: new Set<ErrorCode>(), ...BACKOFF },
  takeovers: 3,
  timeLimitMs: MEDIA_TIME_LIMIT_MS,
  waitLimitMs: JOB_WAIT_LIMIT_MS,
  concurrency: 8,
  ...kept,
} as const;

/** A batch takes its jobs from a file. It runs in a service and costs nothing by itself. */
const batch = {
  keepsTexts: false,
  bytesOf: () => MEBIBYTE,
  work: 'free',
  attempts: 3,
  retry: { notBegun: NOT_BEGUN, mayHaveBegun: new Set<ErrorCode>(['service_unavailable']), ...BACKOFF },
  takeovers: 1000,
  // It ends by itself a day after it was made.
  timeLimitMs: 25 * HOUR_MS,
  waitLimitMs: JOB_WAIT_LIMIT_MS,
  concurrency: 64,
  // So that eight keys have room in one process, however long their batches take.
  ofOneKey: 8,
  ...kept,
} as const;

/** Those of eight keys again, with those that wait for a provider: of which each costs a timer, for up to a day. */
const atOnceWithAside = (asideOfOneKey: number) => ({
  asideOfOneKey,
  concurrency: (batch.concurrency / batch.ofOneKey) * (batch.ofOneKey + asideOfOneKey),
});

const mediaBatch = {
  ...batch,
  input: BatchInput,
  output: BatchOutput,
  uploadsOf: ({ fileId }: BatchInput) => [fileId],
  assetsOf: ({ linesId: id, linesBytes: sizeBytes }: BatchOutput) => [{ id, sizeBytes }],
} as const;

/** Every kind of job. */
export const JOBS: { readonly [Kind in JobKind]: JobSpec<Kind> } = {
  'image.generation': {
    ...image,
    input: ImageGenerationInput,
    uploadsOf: () => [],
    bytesOf: imageBytes,
  },
  'image.edit': {
    ...image,
    input: ImageEditInput,
    uploadsOf: ({ images, mask, markup }) =>
      [...images, mask, markup].flatMap((file) => (file && 'uploadId' in file ? file.uploadId : [])),
    bytesOf: imageBytes,
  },
  'audio.transcription': {
    queue: 'transcription',
    keepsTexts: false,
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
    timeLimitMs: MEDIA_TIME_LIMIT_MS,
    waitLimitMs: JOB_WAIT_LIMIT_MS,
    concurrency: 8,
    ...kept,
  },
  'audio.speech': {
    queue: 'speech',
    keepsTexts: false,
    input: SpeechInput,
    output: SpeechOutput,
    uploadsOf: () => [],
    assetsOf: ({ assetId: id, sizeBytes }) => [{ id, sizeBytes }],
    // It is streamed into the store.
    bytesOf: () => MEBIBYTE,
    work: 'paid',
    attempts: 2,
    retry: { notBegun: NOT_BEGUN, mayHaveBegun: new Set<ErrorCode>(), ...BACKOFF },
    takeovers: 3,
    timeLimitMs: MEDIA_TIME_LIMIT_MS,
    waitLimitMs: JOB_WAIT_LIMIT_MS,
    concurrency: 8,
    ...kept,
  },
  'text.response': {
    queue: 'response',
    keepsTexts: false,
    input: TextResponseInput,
    output: TextResponseOutput,
    uploadsOf: ({ bodyFile }) => (bodyFile === undefined ? [] : [bodyFile.uploadId]),
    assetsOf: () => [],
    bytesOf: ({ body, bodyFile }) => 2 * (bodyFile?.sizeBytes ?? body.length),
    work: 'paid',
    // The request itself goes from candidate to candidate.
    attempts: 1,
    retry: { notBegun: NOT_BEGUN, mayHaveBegun: new Set<ErrorCode>(), ...BACKOFF },
    takeovers: 3,
    timeLimitMs: 2 * HOUR_MS,
    // No caller is held: this bounds the life of the reservation.
    waitLimitMs: 24 * HOUR_MS,
    queueLimitMs: 24 * HOUR_MS,
    concurrency: 64,
    resultRetentionSeconds: 3600,
  },
  'image.batch': { ...mediaBatch, queue: 'image-batch' },
  'audio.batch': { ...mediaBatch, queue: 'audio-batch' },
  'text.batch': {
    ...batch,
    queue: 'text-batch',
    ...atOnceWithAside(64),
    // Its lines have a budget of their own.
    bytesOf: () => MEBIBYTE / 16,
    // What has begun of it ends.
    cancelGraceMs: HOUR_MS,
    input: TextBatchInput,
    output: TextBatchOutput,
    // Its lines lie in a file of the caller's.
    uploadsOf: () => [],
    assetsOf: () => [],
  },
};

/** The longest life of a job, and so of its reservation, unless it is settled before. */
export function longestLifeMs(kind: JobKind, { isDetached }: { isDetached: boolean }): number {
  const { waitLimitMs, queueLimitMs, timeLimitMs } = JOBS[kind];
  return (isDetached ? queueLimitMs : waitLimitMs) + timeLimitMs;
}
