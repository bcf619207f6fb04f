import { z } from 'zod';
import { ContentOmission } from '../content-log.ts';
import type { Dialect, GatewayError } from '../gateway-error.ts';

const milliseconds = z.number().min(0);
const usd = z.number().min(0);

/** The unit prices by which a request was charged, of what it used: US dollars for each million tokens or characters, each image, minute or request, each thousand calls of a tool. */
export const UnitPrices = z.object({
  input: usd.optional(),
  cachedInput: usd.optional(),
  cacheWrite: usd.optional(),
  cacheWrite1h: usd.optional(),
  output: usd.optional(),
  reasoning: usd.optional(),
  audioInput: usd.optional(),
  cachedAudioInput: usd.optional(),
  imageInput: usd.optional(),
  cachedImageInput: usd.optional(),
  audioOutput: usd.optional(),
  image: usd.optional(),
  characters: usd.optional(),
  minute: usd.optional(),
  request: usd.optional(),
  /** By the tool's family. */
  toolCalls: z.record(z.string(), usd).optional(),
});
export type UnitPrices = z.infer<typeof UnitPrices>;

/** What is kept of a text in a record at most; the header or log line that it comes from is bounded as well. */
export const MAX_DETAIL_LENGTH = 2048;
const text = z.string().max(MAX_DETAIL_LENGTH);
export const MAX_CODE_LENGTH = 64;
const MAX_OBJECT_LENGTH = 128;

/**
 * How a request went, for a person who looks into it. A member is absent where it says nothing, since every record is kept
 * in memory.
 */
export const UsageDetail = z.object({
  isStreamed: z.literal(true).optional(),
  /** It was sent by a draft of the configuration, to try that. */
  isDraft: z.literal(true).optional(),
  /** In a queue, until its work was begun for the last time. */
  queuedMs: milliseconds.optional(),
  /** For a free slot of a channel. */
  waitedMs: milliseconds.optional(),
  /** Of the attempt that answered: until its first output. */
  upstreamMs: milliseconds.optional(),
  /** As `x-gateway-attempts`; absent for one attempt that answered, by its channel's only account. */
  attempts: text.optional(),
  /** As `x-gateway-dropped`. */
  dropped: text.optional(),
  /** The HTTP status and code of the error that it ended with. */
  status: z.int().optional(),
  errorCode: z.string().max(MAX_CODE_LENGTH).optional(),
  /** Absent where nothing was charged or the model has no price. */
  unitPrices: UnitPrices.optional(),
  /** Of its trace, where that is exported and it was sampled: 32 hex digits. */
  traceId: z.string().max(MAX_CODE_LENGTH).optional(),
  /** The object of the content log that has what was asked and answered. */
  contentObject: z.string().max(MAX_OBJECT_LENGTH).optional(),
  /** Why it is not there, although a rule of the content log applies. */
  contentOmitted: ContentOmission.optional(),
  /** What hooks did; see `readHookNotes`. */
  hooks: text.optional(),
});
export type UsageDetail = z.infer<typeof UsageDetail>;

/** The header that lists the attempts for a request, as a structured list (RFC 9651). Errors of jobs carry it to their callers. */
export const ATTEMPTS_HEADER = 'x-gateway-attempts';

/**
 * Why the last attempt failed, in words for operators, percent-encoded: on answers to requests by which an operator tests a channel
 * or tries a draft of the configuration, and on no others.
 */
export const ATTEMPT_DETAIL_HEADER = 'x-gateway-attempt-detail';

/** The channel of the last attempt in a list of attempts; null where there is none. Names of channels have no quotes. */
export const lastChannelIn = (attempts: string): string | null =>
  /^"([^"]*)"/.exec(attempts.split(', ').at(-1) ?? '')?.[1] ?? null;

/** Which attempts are meant. Absent members do not count. */
export interface AttemptFilter {
  readonly channel?: string | undefined;
  /** `ok` or a failure, as the list of attempts names it. */
  readonly outcome?: string | undefined;
}

const OUTCOME = /;outcome=([a-z-]+)/;

/** Whether one attempt in a list of attempts is meant. */
export const hasAttempt = (attempts: string, { channel, outcome }: AttemptFilter): boolean =>
  attempts
    .split(', ')
    .some(
      (one) =>
        (channel === undefined || one.startsWith(`"${channel}"`)) &&
        (outcome === undefined || OUTCOME.exec(one)?.[1] === outcome),
    );

/** What a record says of the error that its request ended with. */
export function failureDetail(error: GatewayError, dialect: Dialect): UsageDetail {
  const attempts = error.options.headers?.[ATTEMPTS_HEADER]?.slice(0, MAX_DETAIL_LENGTH);
  return {
    status: error.status(dialect),
    errorCode: error.code,
    ...(attempts !== undefined && { attempts }),
  };
}
