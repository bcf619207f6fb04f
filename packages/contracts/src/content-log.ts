import { z } from 'zod';
import { CallerNames } from './usage/caller-names.ts';

/** What the content log can take out of texts before it writes them. */
export const REDACTIONS = ['email', 'phone', 'card', 'iban', 'ip', 'jwt', 'api-key'] as const;
export type Redaction = (typeof REDACTIONS)[number];

/** By which a caller keeps a request out of the content log, where a rule allows it: `off`. */
export const CONTENT_LOG_HEADER = 'x-gateway-content-log';

/** The stores in which its objects lie, and notes of what was deleted from them. */
export const CONTENT_STORES = { lines: 'content', erasures: 'content-erasures' } as const;

/** Why a request to which a rule applies is not in the content log: not in the rule's share; its caller did not want it. */
export const ContentOmission = z.enum(['share', 'caller']);
export type ContentOmission = z.infer<typeof ContentOmission>;

/** One line of the content log: what one request asked and what it was answered, redacted. */
export const ContentRecord = z.object({
  version: z.literal(1),
  /** That of the usage record. */
  id: z.string(),
  requestId: z.string(),
  /** When the request had ended; ISO 8601. */
  at: z.string(),
  keyId: z.string(),
  team: z.string().nullable(),
  endpoint: z.string(),
  model: z.string(),
  channel: z.string().nullable(),
  ...CallerNames.shape,
  /** The body as its caller sent it, but for media, redactions and what was cut; null where it could not be read. */
  request: z.unknown(),
  /** The answer as its caller got it, that of a stream put together; null where there is none. */
  answer: z.unknown(),
  /** The answer broke off. */
  isPartial: z.literal(true).optional(),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
  /** What was longer than the log takes. */
  cut: z.array(z.enum(['request', 'answer'])).optional(),
  /** How often each pattern was found. */
  redacted: z.record(z.string(), z.int().min(1)).optional(),
});
export type ContentRecord = z.infer<typeof ContentRecord>;
