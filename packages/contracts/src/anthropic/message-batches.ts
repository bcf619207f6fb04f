import { z } from 'zod';

/** One request of a batch of messages. `params` is what `POST /v1/messages` takes; it is checked when its turn has come. */
export const MessageBatchLine = z.looseObject({
  custom_id: z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, _ or -'),
  params: z.looseObject({ model: z.string().min(1) }),
});
export type MessageBatchLine = z.infer<typeof MessageBatchLine>;

/** A request of `POST /v1/messages/batches`. It is read request by request, and never held whole. */
export const MessageBatchRequest = z.looseObject({ requests: z.array(MessageBatchLine).min(1) });

const count = z.int().min(0);
const time = z.iso.datetime();

/** A batch of messages as its caller sees it. */
export const MessageBatch = z.strictObject({
  id: z.string(),
  type: z.literal('message_batch'),
  processing_status: z.enum(['in_progress', 'canceling', 'ended']),
  request_counts: z.strictObject({
    processing: count,
    succeeded: count,
    errored: count,
    canceled: count,
    expired: count,
  }),
  created_at: time,
  ended_at: time.nullable(),
  expires_at: time,
  archived_at: time.nullable(),
  cancel_initiated_at: time.nullable(),
  results_url: z.string().nullable(),
});
export type MessageBatch = z.infer<typeof MessageBatch>;

const MAX_PAGE = 1000;

export const MessageBatchListQuery = z.object({
  after_id: z.string().max(100).optional(),
  before_id: z.string().max(100).optional(),
  limit: z.coerce.number().int().min(1).max(MAX_PAGE).optional(),
});
export type MessageBatchListQuery = z.infer<typeof MessageBatchListQuery>;
