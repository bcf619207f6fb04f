import { z } from 'zod';
import { characters } from './wire-types.ts';

const CUSTOM_ID_MAX_CHARACTERS = 512;

/** One line of a batch, in the shape of OpenAI's Batch API. Which URLs a line may name depends on where the batch is sent. */
export const BatchLine = z.looseObject({
  /** Unique among the batch's lines. */
  custom_id: characters(1, CUSTOM_ID_MAX_CHARACTERS),
  method: z.enum(['POST']),
  url: z.string(),
  /** As the endpoint takes it. */
  body: z.looseObject({ model: z.string().min(1) }),
});
export type BatchLine = z.infer<typeof BatchLine>;

/** One line of a batch's result; exactly one of `response` and `error` is null. */
export const BatchResultLine = z.strictObject({
  /** The line's own job. */
  id: z.string(),
  custom_id: z.string(),
  /** What the endpoint answered, also where it refused or failed. */
  response: z.strictObject({ status_code: z.int(), body: z.unknown() }).nullable(),
  /** Why the line was not begun. */
  error: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
});
export type BatchResultLine = z.infer<typeof BatchResultLine>;
