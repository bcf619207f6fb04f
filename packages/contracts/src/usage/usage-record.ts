import { z } from 'zod';
import { CallerNames } from './caller-names.ts';
import { UsageDetail } from './usage-detail.ts';

const count = z.int().min(0);

/** Calls of built-in tools, by the tool's family; see `perThousandToolCalls` of a price. */
export const ToolCalls = z.record(z.string().min(1).max(64), count);
export type ToolCalls = Readonly<z.infer<typeof ToolCalls>>;

/** What one request consumed. Counts that do not apply are 0. */
export const Consumption = z.object({
  /** All input, cached and cache-writing tokens included. */
  inputTokens: count,
  cachedInputTokens: count,
  cacheWriteTokens: count,
  /** Those of them that were written for an hour. Absent: none. */
  cacheWrite1hTokens: count.optional(),
  /** All output, reasoning included. */
  outputTokens: count,
  reasoningTokens: count,
  /** Input that is sound, cached sound included. Absent: none, or not reported apart. */
  audioInputTokens: count.optional(),
  /** Those of them, and of the cached input, that were read from the cache. Absent: none. */
  cachedAudioTokens: count.optional(),
  /** Input that is images, cached images included. Absent: none, or not reported apart. */
  imageInputTokens: count.optional(),
  /** Those of them, and of the cached input, that were read from the cache. Absent: none. */
  cachedImageTokens: count.optional(),
  /** Output that is sound. Absent: none. */
  audioOutputTokens: count.optional(),
  images: count,
  characters: count,
  audioMs: count,
  /** Calls of tools that the provider runs. Absent: none. */
  toolCalls: ToolCalls.optional(),
});
export type Consumption = z.infer<typeof Consumption>;

export const NOTHING_CONSUMED: Consumption = {
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  images: 0,
  characters: 0,
  audioMs: 0,
};

/** How a request ended, for readers of usage. `abandoned`: its process ended before it; charged as estimated. */
export const UsageOutcome = z.enum(['ok', 'failed', 'cut', 'left', 'cancelled', 'abandoned']);
export type UsageOutcome = z.infer<typeof UsageOutcome>;

/** The request and its account: known before the upstream is called. */
export const UsageSubject = z.object({
  /** The request's or the job's id; a record with this id is appended once. */
  id: z.string().min(1),
  keyId: z.string().min(1),
  team: z.string().nullable(),
  endpoint: z.string().min(1),
  /** The caller's name for it. */
  model: z.string().min(1),
  /** Unix milliseconds. */
  startedAtMs: z.number(),
  /** As its caller knows it: a caller may choose it, so that several records may have the same. Absent in records from before December 2026. */
  requestId: z.string().max(128).optional(),
  ...CallerNames.shape,
});
export type UsageSubject = z.infer<typeof UsageSubject>;

/** The outcome: known when the request has ended. */
export const UsageResult = z.object({
  outcome: UsageOutcome,
  /** Null when no channel was reached. */
  channel: z.string().nullable(),
  attempts: count,
  durationMs: z.number().min(0),
  firstByteMs: z.number().min(0).nullable(),
  consumption: Consumption,
  /** The consumption is the gateway's estimate, because the upstream reported none. */
  estimated: z.boolean(),
  /** Null: the model has no price. */
  costMicroUsd: count.nullable(),
  /** Absent in records from before December 2026, and where nothing is known. Never a reason to lose a record. */
  detail: UsageDetail.optional().catch(undefined),
  /** That of a response whose caller named none: the id of the first response of its chain. */
  session: CallerNames.shape.session,
});
export type UsageResult = z.infer<typeof UsageResult>;

/** A request's consumption, without its outcome and timing. */
export const ConsumedUsage = UsageResult.omit({ outcome: true, durationMs: true, firstByteMs: true });
export type ConsumedUsage = z.infer<typeof ConsumedUsage>;

/** One line of the ledger: one request, job or background response. */
export const UsageRecord = UsageSubject.extend(UsageResult.shape);
export type UsageRecord = z.infer<typeof UsageRecord>;
