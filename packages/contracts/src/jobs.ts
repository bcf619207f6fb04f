import { z } from 'zod';
import { Identity } from './identity.ts';

/** What kinds of work are queued. */
export const JobKind = z.enum([
  'image.generation',
  'image.edit',
  'audio.transcription',
  'audio.speech',
  'text.response',
  'image.batch',
  'audio.batch',
  'text.batch',
]);
export type JobKind = z.infer<typeof JobKind>;

/** Jobs that consist of others. */
export const BatchKind = JobKind.extract(['image.batch', 'audio.batch', 'text.batch']);
export type BatchKind = z.infer<typeof BatchKind>;
/** Those that are made from the body of one request, and whose results are put together from their lines' own. */
export type MediaBatchKind = Exclude<BatchKind, 'text.batch'>;
export const isBatch = (kind: JobKind): kind is BatchKind => BatchKind.safeParse(kind).success;

/**
 * Jobs are listed and found below `/v1/images/jobs` or `/v1/audio/jobs`. Those of background responses and of batches of text requests
 * are not: their callers know the response, or the batch.
 */
export type JobArea = 'images' | 'audio' | 'responses' | 'batches';

const AREAS: Readonly<Record<JobKind, JobArea>> = {
  'image.generation': 'images',
  'image.edit': 'images',
  'audio.transcription': 'audio',
  'audio.speech': 'audio',
  'text.response': 'responses',
  'image.batch': 'images',
  'audio.batch': 'audio',
  'text.batch': 'batches',
};

export const jobAreaOf = (kind: JobKind): JobArea => AREAS[kind];

export const JobStatus = z.enum(['queued', 'in_progress', 'completed', 'failed', 'cancelled']);
export type JobStatus = z.infer<typeof JobStatus>;

const unixSeconds = z.int().min(0);

/** The state of a batch's lines; what is neither is still to be done. */
export const BatchCounts = z.strictObject({
  total: z.int().min(0),
  completed: z.int().min(0),
  /** Cancelled ones among them. */
  failed: z.int().min(0),
});
export type BatchCounts = z.infer<typeof BatchCounts>;

/** A job as callers see it. `error` is the error object of the caller's protocol. */
export const PublicJob = z.strictObject({
  id: z.string(),
  object: z.literal('job'),
  kind: JobKind,
  status: JobStatus,
  /** The name that the caller used. */
  model: z.string(),
  created_at: unixSeconds,
  started_at: unixSeconds.nullable(),
  finished_at: unixSeconds.nullable(),
  /** When the result is forgotten; null while there is none. */
  expires_at: unixSeconds.nullable(),
  /** 0 to 1. */
  progress: z.number().min(0).max(1),
  /** How many jobs are before it, from 1; null once it is no longer queued. */
  position: z.int().min(1).nullable(),
  error: z.record(z.string(), z.unknown()).nullable(),
  /** Of a batch, once it has begun. */
  counts: BatchCounts.optional(),
});
export type PublicJob = z.infer<typeof PublicJob>;

/** A page of a key's jobs, newest first. */
export const PublicJobList = z.strictObject({
  object: z.literal('list'),
  data: z.array(PublicJob),
  first_id: z.string().nullable(),
  /** What the next page's `after` is. */
  last_id: z.string().nullable(),
  has_more: z.boolean(),
});
export type PublicJobList = z.infer<typeof PublicJobList>;

/** The query of a list of jobs. */
export const JobListQuery = z.object({
  status: JobStatus.optional(),
  /** The `last_id` of the page before. */
  after: z.string().max(100).optional(),
  limit: z.coerce.number().int().min(1).max(100).optional(),
  /** Finds the one job that a request with this `Idempotency-Key` made. */
  idempotency_key: z.string().max(255).optional(),
});
export type JobListQuery = z.infer<typeof JobListQuery>;

// Inputs are strict: what a worker does not know it must not leave out, and leaves the job to a newer worker. A queued job outlives a
// deploy, so a member that is added later is optional at first. Outputs may have members that are not known: a service answers without them.

/** A file that a request brought and that waits in the uploads area for its job. */
export const Upload = z.strictObject({
  /** Names the file in the uploads area. */
  uploadId: z.string().min(1),
  /** As the caller named it; sent to the upstream, and not relied on. */
  fileName: z.string(),
  /** By the file's content. */
  contentType: z.string(),
  sizeBytes: z.int().min(0),
});
export type Upload = z.infer<typeof Upload>;

/** What it cost; null where the model has no price. Absent in jobs from before there were prices. */
const costMicroUsd = z.int().min(0).nullable().optional();

/** How a job's provider was called. */
export const JobAttempts = z.object({
  /** How many upstream calls it took. */
  upstreamAttempts: z.int().min(1),
  /** The value of `x-gateway-attempts`. Absent in jobs from before December 2026. */
  attemptList: z.string().optional(),
  /** The account of the channel that did it. Absent in jobs from before December 2026. */
  account: z.string().optional(),
});
export type JobAttempts = z.infer<typeof JobAttempts>;

/** Text parts of a form, in their order; names may repeat. */
const FormFields = z.array(z.tuple([z.string(), z.string()]));

/** What a caller gets who requested images: a URL at the gateway, or the bytes. */
export const ImageResponseFormat = z.enum(['url', 'b64_json']);
export type ImageResponseFormat = z.infer<typeof ImageResponseFormat>;

export const ImageGenerationInput = z.strictObject({
  model: z.string(),
  /** The caller's JSON members, without `model` and `response_format`. */
  parameters: z.record(z.string(), z.unknown()),
  /** Partial images are wanted as they come; the worker emits them. */
  stream: z.boolean().optional(),
  responseFormat: ImageResponseFormat,
  /** The caller wants an error rather than have a member left out. */
  strict: z.boolean(),
});
export type ImageGenerationInput = z.infer<typeof ImageGenerationInput>;

/** A file that the provider has, named by the id that it gave it. */
export const ProviderFile = z.strictObject({ fileId: z.string().min(1) });
export type ProviderFile = z.infer<typeof ProviderFile>;

const ImageSource = z.union([Upload, ProviderFile]);
export type ImageSource = z.infer<typeof ImageSource>;

export const ImageEditInput = z.strictObject({
  model: z.string(),
  /** The caller's text parts, without `model` and `response_format`; members of JSON as the texts that they would be in a form. */
  fields: FormFields,
  images: z.array(ImageSource).min(1),
  mask: ImageSource.nullable(),
  markup: ImageSource.optional(),
  stream: z.boolean().optional(),
  responseFormat: ImageResponseFormat,
  strict: z.boolean(),
});
export type ImageEditInput = z.infer<typeof ImageEditInput>;

/** The making of images, done: the bytes lie in the asset store. */
export const ImageOutput = z.object({
  /** Unix seconds, as the upstream reported. */
  created: unixSeconds,
  images: z.array(
    z.object({
      assetId: z.string(),
      contentType: z.string(),
      sizeBytes: z.int().min(0),
      /** What else the upstream reported of this image, such as `revised_prompt`. */
      members: z.record(z.string(), z.unknown()),
    }),
  ),
  /** What else the upstream reported of all of them: `usage`, `size`, `quality`, `background`, `output_format`. */
  members: z.record(z.string(), z.unknown()),
  /** The caller's members that the upstream that did it does not have. */
  dropped: z.array(z.string()),
  /** The channel that did it. */
  channel: z.string(),
  ...JobAttempts.shape,
  costMicroUsd,
  /** What the caller wanted, for who fetches the result later. Absent in outputs of jobs from before results could be fetched. */
  responseFormat: ImageResponseFormat.optional(),
  /** What came before the images, and goes with them. */
  partialImages: z.array(z.object({ assetId: z.string(), sizeBytes: z.int().min(0) })).optional(),
});
export type ImageOutput = z.infer<typeof ImageOutput>;

export const TranscriptionInput = z.strictObject({
  model: z.string(),
  file: Upload,
  /** The caller's text parts, without `model`, `response_format` and `stream`. */
  fields: FormFields,
  responseFormat: z.string(),
  /** The words are wanted in English. Absent: in the language that is spoken. */
  translates: z.literal(true).optional(),
  /** The caller wants deltas as they come; the worker emits them. */
  stream: z.boolean(),
  /** By the file's own headers; null where they do not have it. */
  durationSeconds: z.number().nullable(),
  /** The caller wants an error rather than have a part left out. Absent in jobs from before December 2026. */
  strict: z.boolean().optional(),
});
export type TranscriptionInput = z.infer<typeof TranscriptionInput>;

export const TranscriptionOutput = z.object({
  /** The reply's body in the format that was requested. */
  body: z.string(),
  contentType: z.string(),
  /** As the protocol reports it; null where the upstream reported none. */
  usage: z.record(z.string(), z.unknown()).nullable(),
  durationSeconds: z.number().nullable(),
  channel: z.string(),
  /** The caller's parts that the upstream that did it does not have. Absent in jobs from before December 2026. */
  dropped: z.array(z.string()).optional(),
  /** How many pieces a long recording was cut into; absent: it was sent whole. */
  parts: z.int().min(1).optional(),
  ...JobAttempts.shape,
  costMicroUsd,
});
export type TranscriptionOutput = z.infer<typeof TranscriptionOutput>;

export const SpeechInput = z.strictObject({
  model: z.string(),
  /** The caller's JSON members, without `model`. */
  parameters: z.record(z.string(), z.unknown()),
  /** The caller wants an error rather than have a member left out. */
  strict: z.boolean().optional(),
});
export type SpeechInput = z.infer<typeof SpeechInput>;

/** Speech, done: what the reply's body would have been lies in the asset store. */
export const SpeechOutput = z.object({
  assetId: z.string(),
  contentType: z.string(),
  sizeBytes: z.int().min(0),
  characters: z.int().min(0),
  channel: z.string(),
  /** The caller's members that the upstream that did it does not have. */
  dropped: z.array(z.string()).optional(),
  ...JobAttempts.shape,
  costMicroUsd,
});
export type SpeechOutput = z.infer<typeof SpeechOutput>;
/** A response that is generated in the background. Its id follows from the job's. */
export const TextResponseInput = z.strictObject({
  model: z.string(),
  /** The caller's JSON body, without `background`, for a stream. Empty where it lies in a file. */
  body: z.string(),
  /** The file of a large body. */
  bodyFile: z.strictObject({ uploadId: z.string().min(1), sizeBytes: z.int().min(0) }).optional(),
  /** Those of the caller's headers that may go to a provider or that the gateway uses. */
  headers: z.record(z.string(), z.string()),
  identity: Identity,
  /** The caller wants the events: each is kept, so that they can be read from any point on. */
  keepsEvents: z.boolean(),
});
export type TextResponseInput = z.infer<typeof TextResponseInput>;

/** How it went, for the log: the response itself is kept where its caller reads it. */
export const TextResponseOutput = z.object({
  status: z.string(),
  channel: z.string().nullable(),
  upstreamAttempts: z.int().min(0),
  inputTokens: z.int().min(0),
  cachedInputTokens: z.int().min(0),
  outputTokens: z.int().min(0),
  reasoningTokens: z.int().min(0),
  costMicroUsd,
});
export type TextResponseOutput = z.infer<typeof TextResponseOutput>;

/** In whose form a batch of text requests is shown and its results are written. */
export const BatchFace = z.enum(['openai', 'anthropic']);
export type BatchFace = z.infer<typeof BatchFace>;

/** A batch of text requests, as its caller has made it. */
export const TextBatchInput = z.strictObject({
  /** What it is listed under. Its lines name their own. */
  model: z.string(),
  face: BatchFace,
  /** The path that every line names. */
  endpoint: z.string(),
  /** The file of its lines. */
  fileId: z.string().min(1),
  /** How many lines it has, where they were looked at when it was made; null: they are looked at before the first one is begun. */
  lines: z.int().min(1).nullable(),
  createdAtMs: z.number(),
  /** Lines that have not begun by then are not begun. Unix milliseconds. */
  untilMs: z.number(),
  metadata: z.record(z.string(), z.string()).nullable(),
  /** How long its results are kept. */
  resultSeconds: z.int().min(1),
  /** Those of its request's headers that its lines have. */
  headers: z.record(z.string(), z.string()),
});
export type TextBatchInput = z.infer<typeof TextBatchInput>;

export const BatchInput = z.strictObject({
  /** The models that its lines name. */
  model: z.string(),
  /** The upload that holds the lines. */
  fileId: z.string().min(1),
  lines: z.int().min(1),
  /** Lines that have not begun by then are not begun. Unix milliseconds. */
  untilMs: z.number(),
  strict: z.boolean(),
});
export type BatchInput = z.infer<typeof BatchInput>;

/** A batch, done: what its lines made belongs to their own jobs. */
export const BatchOutput = z.object({
  /** The asset that names its lines. */
  linesId: z.string(),
  linesBytes: z.int().min(0),
  counts: BatchCounts,
});
export type BatchOutput = z.infer<typeof BatchOutput>;

/** A batch of text requests, done: what its lines came to lies in files. */
export const TextBatchOutput = z.object({ counts: BatchCounts });
export type TextBatchOutput = z.infer<typeof TextBatchOutput>;
