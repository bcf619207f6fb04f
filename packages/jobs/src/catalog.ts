import {
  ImageEditInput,
  ImageGenerationInput,
  ImageOutput,
  type JobKind,
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
  'text.response': { input: TextResponseInput; output: TextResponseOutput };
}
export type JobInput<Kind extends JobKind> = Payloads[Kind]['input'];
export type JobOutput<Kind extends JobKind> = Payloads[Kind]['output'];

/** What is known of a kind of job before one is made. */
export interface JobSpec<Kind extends JobKind = JobKind> {
  /** Kinds with the same queue wait in one line and share its workers' places. */
  readonly queue: string;
  readonly input: z.ZodType<JobInput<Kind>>;
  readonly output: z.ZodType<JobOutput<Kind>>;
  /** Ids of the uploads that the job reads; they are deleted when it has ended. */
  readonly uploadsOf: (input: JobInput<Kind>) => string[];
  /** `paid` work is never begun twice; `free` work may be repeated after a worker's death. */
  readonly work: 'paid' | 'free';
  /** How often it is tried while the upstream says that it did not begin (`free`: or that it failed). */
  readonly attempts: number;
  /** How often it is taken over from a worker that fell silent; `paid` work only to look for its result. */
  readonly takeovers: number;
  /** One attempt, from start to end. */
  readonly timeLimitMs: number;
  /** How long a caller is held, from enqueue to end. */
  readonly waitLimitMs: number;
  /** How many one worker process runs at a time, unless it is told otherwise. */
  readonly concurrency: number;
  /** How long the outcome is remembered. */
  readonly resultRetentionSeconds: number;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const image = {
  queue: 'image',
  output: ImageOutput,
  work: 'paid',
  attempts: 2,
  takeovers: 3,
  timeLimitMs: 10 * MINUTE_MS,
  waitLimitMs: JOB_WAIT_LIMIT_MS,
  concurrency: 8,
  resultRetentionSeconds: 3600,
} as const;

/** Every kind of job. */
export const JOBS: { readonly [Kind in JobKind]: JobSpec<Kind> } = {
  'image.generation': { ...image, input: ImageGenerationInput, uploadsOf: () => [] },
  'image.edit': {
    ...image,
    input: ImageEditInput,
    uploadsOf: ({ images, mask }) => [...images, ...(mask ? [mask] : [])].map(({ uploadId }) => uploadId),
  },
  'audio.transcription': {
    queue: 'transcription',
    input: TranscriptionInput,
    output: TranscriptionOutput,
    uploadsOf: ({ file }) => [file.uploadId],
    work: 'free',
    attempts: 3,
    takeovers: 2,
    timeLimitMs: 10 * MINUTE_MS,
    waitLimitMs: JOB_WAIT_LIMIT_MS,
    concurrency: 8,
    resultRetentionSeconds: 3600,
  },
  'text.response': {
    queue: 'response',
    input: TextResponseInput,
    output: TextResponseOutput,
    uploadsOf: () => [],
    work: 'paid',
    // The request itself goes from candidate to candidate.
    attempts: 1,
    takeovers: 3,
    timeLimitMs: 2 * HOUR_MS,
    // Nobody is held: this bounds how long what was reserved stands.
    waitLimitMs: 24 * HOUR_MS,
    concurrency: 64,
    resultRetentionSeconds: 3600,
  },
};

/** The longest that a job lives: for how long what was reserved for it stands, unless somebody settles it. */
export const longestLifeMs = (kind: JobKind): number => JOBS[kind].waitLimitMs + JOBS[kind].timeLimitMs;
