import {
  ImageEditInput,
  ImageGenerationInput,
  ImageOutput,
  type JobKind,
  TranscriptionInput,
  TranscriptionOutput,
} from '@gateway/contracts/jobs';
import { JOB_WAIT_LIMIT_MS } from '@gateway/contracts/time-limits';
import type { z } from 'zod';

interface Payloads {
  'image.generation': { input: ImageGenerationInput; output: ImageOutput };
  'image.edit': { input: ImageEditInput; output: ImageOutput };
  'audio.transcription': { input: TranscriptionInput; output: TranscriptionOutput };
}
export type JobInput<Kind extends JobKind> = Payloads[Kind]['input'];
export type JobOutput<Kind extends JobKind> = Payloads[Kind]['output'];

/** Something that a job has stored. */
export interface KeptAsset {
  readonly id: string;
  readonly sizeBytes: number;
}

/** What is known of a kind of job before one is made. */
export interface JobSpec<Kind extends JobKind = JobKind> {
  /** Kinds with the same queue wait in one line and share its workers' places. */
  readonly queue: string;
  readonly input: z.ZodType<JobInput<Kind>>;
  readonly output: z.ZodType<JobOutput<Kind>>;
  /** Ids of the uploads that the job reads; they are deleted when it has ended. */
  readonly uploadsOf: (input: JobInput<Kind>) => string[];
  /** The assets that an output names; they go with it. */
  readonly assetsOf: (output: JobOutput<Kind>) => KeptAsset[];
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

const image = {
  queue: 'image',
  output: ImageOutput,
  assetsOf: ({ images }: ImageOutput) => images.map(({ assetId: id, sizeBytes }) => ({ id, sizeBytes })),
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
    uploadsOf: ({ images, mask }) =>
      [...images, ...(mask ? [mask] : [])].flatMap((file) => ('uploadId' in file ? file.uploadId : [])),
  },
  'audio.transcription': {
    queue: 'transcription',
    input: TranscriptionInput,
    output: TranscriptionOutput,
    uploadsOf: ({ file }) => [file.uploadId],
    assetsOf: () => [],
    work: 'free',
    attempts: 3,
    takeovers: 2,
    timeLimitMs: 10 * MINUTE_MS,
    waitLimitMs: JOB_WAIT_LIMIT_MS,
    concurrency: 8,
    resultRetentionSeconds: 3600,
  },
};

/** The longest that a job lives: for how long what was reserved for it stands, unless somebody settles it. */
export const longestLifeMs = (kind: JobKind): number => JOBS[kind].waitLimitMs + JOBS[kind].timeLimitMs;
