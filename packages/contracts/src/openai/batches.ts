import { z } from 'zod';
import { ExpiresAfter } from './files.ts';
import { Metadata } from './metadata.ts';

/** The endpoints that the lines of a batch may name. */
export const BatchEndpoint = z.enum([
  '/v1/chat/completions',
  '/v1/responses',
  '/v1/embeddings',
  '/v1/completions',
  '/v1/moderations',
]);

/** A request of `POST /v1/batches`. */
export const BatchRequest = z.looseObject({
  input_file_id: z.string().min(1),
  endpoint: BatchEndpoint,
  completion_window: z.enum(['24h']),
  metadata: Metadata.nullish(),
  output_expires_after: ExpiresAfter.nullish(),
});
export type BatchRequest = z.infer<typeof BatchRequest>;

const MAX_PAGE = 100;

export const BatchListQuery = z.object({
  after: z.string().max(100).optional(),
  limit: z.coerce.number().int().min(1).max(MAX_PAGE).optional(),
});
export type BatchListQuery = z.infer<typeof BatchListQuery>;

const unixSeconds = z.int().min(0);
const count = z.int().min(0);

/** A batch as its caller sees it. */
export const BatchObject = z.strictObject({
  id: z.string(),
  object: z.literal('batch'),
  endpoint: z.string(),
  model: z.string().optional(),
  errors: z
    .strictObject({
      object: z.literal('list'),
      data: z.array(
        z.strictObject({
          code: z.string(),
          message: z.string(),
          param: z.string().nullable(),
          line: z.int().min(1).nullable(),
        }),
      ),
    })
    .nullable(),
  input_file_id: z.string(),
  completion_window: z.literal('24h'),
  status: z.enum([
    'validating',
    'in_progress',
    'finalizing',
    'completed',
    'failed',
    'expired',
    'cancelling',
    'cancelled',
  ]),
  output_file_id: z.string().nullable(),
  error_file_id: z.string().nullable(),
  created_at: unixSeconds,
  in_progress_at: unixSeconds.nullable(),
  expires_at: unixSeconds,
  finalizing_at: unixSeconds.nullable(),
  completed_at: unixSeconds.nullable(),
  failed_at: unixSeconds.nullable(),
  expired_at: unixSeconds.nullable(),
  cancelling_at: unixSeconds.nullable(),
  cancelled_at: unixSeconds.nullable(),
  request_counts: z.strictObject({ total: count, completed: count, failed: count }),
  usage: z.strictObject({
    input_tokens: count,
    input_tokens_details: z.strictObject({ cached_tokens: count }),
    output_tokens: count,
    output_tokens_details: z.strictObject({ reasoning_tokens: count }),
    total_tokens: count,
  }),
  metadata: z.record(z.string(), z.string()).nullable(),
});
export type BatchObject = z.infer<typeof BatchObject>;
