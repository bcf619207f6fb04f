import { ContentOmission } from '@gateway/contracts/content-log';
import { HookNote, readHookNotes } from '@gateway/contracts/usage/hook-notes';
import { ToolCalls, type UsageRecord } from '@gateway/contracts/usage/usage-record';
import { costParts } from '@gateway/metering/price/unit-prices';
import { answeredAtOnce, readAttempts, type ShownAttempt } from '@gateway/upstream/replies/attempts-header';
import { z } from 'zod';
import { instant, page } from '../api/schemas/page.ts';
import { TRACE_ID_PLACE } from '../config.ts';

const milliseconds = z.number().min(0);
const count = z.int().min(0);

/** A request that has ended: everything that its usage record says. */
export const RequestReply = z.strictObject({
  /** The record's own id; that of a job or of a background response's request. */
  id: z.string(),
  /** As its caller knows it; null in records from before December 2026. */
  requestId: z.string().nullable(),
  keyId: z.string(),
  team: z.string().nullable(),
  endpoint: z.string(),
  model: z.string(),
  /** As its caller named it; null where it did not. */
  endUser: z.string().nullable(),
  session: z.string().nullable(),
  label: z.string().nullable(),
  channel: z.string().nullable(),
  outcome: z.string(),
  startedAt: instant,
  isStreamed: z.boolean(),
  /** It was sent by a draft of the configuration, to try that. */
  isDraft: z.boolean(),
  /** Of the error that it ended with. */
  status: z.int().nullable(),
  errorCode: z.string().nullable(),
  /** Null: not measured, or it did not happen. */
  timing: z.strictObject({
    totalMs: milliseconds,
    /** From the request's begin to the first output for its caller. */
    firstOutputMs: milliseconds.nullable(),
    /** In a queue. */
    queuedMs: milliseconds.nullable(),
    /** For a free slot of a channel. */
    waitedMs: milliseconds.nullable(),
    /** Of the attempt that answered: until its first output. */
    upstreamMs: milliseconds.nullable(),
  }),
  /** Null: no trace was exported, or it was not sampled. `url`: by `TRACE_URL`; null where that is not set. */
  trace: z.strictObject({ id: z.string(), url: z.string().nullable() }).nullable(),
  attempts: count,
  /** In the order in which they ended; of very many, the first and the last. */
  attemptList: z.array(
    z.strictObject({
      channel: z.string(),
      account: z.string(),
      outcome: z.string(),
      status: z.int().nullable(),
      ms: milliseconds.nullable(),
      isHedge: z.boolean(),
    }),
  ),
  /** What the translation left out. */
  dropped: z.array(z.string()),
  /** What hooks did to its texts. */
  hooks: z.array(HookNote),
  consumption: z.strictObject({
    inputTokens: count,
    cachedInputTokens: count,
    cacheWriteTokens: count,
    /** Those of them that were written for an hour. Absent: none. */
    cacheWrite1hTokens: count.optional(),
    outputTokens: count,
    reasoningTokens: count,
    /** Input that is sound, and what of it was cached; output that is sound. Absent: none. */
    audioInputTokens: count.optional(),
    cachedAudioTokens: count.optional(),
    audioOutputTokens: count.optional(),
    /** Input that is images, and what of it was cached. Absent: none. */
    imageInputTokens: count.optional(),
    cachedImageTokens: count.optional(),
    images: count,
    characters: count,
    audioSeconds: z.number().min(0),
    /** Calls of tools that the provider runs, by the tool's family. Absent: none. */
    toolCalls: ToolCalls.optional(),
  }),
  /** Whether the content log has it, or why not: no rule applied, it was not in the share, its caller opted out. */
  content: z.enum(['logged', 'off', ...ContentOmission.options]),
  /** The gateway's own numbers: the provider reported none. */
  estimated: z.boolean(),
  /** Null: the model has no price. */
  costMicroUsd: count.nullable(),
  /** How the cost came about: `amount / unit * unitUsd` for each kind; of audio the amount is in milliseconds. */
  cost: z.array(
    z.strictObject({
      kind: z.string(),
      /** The family of the tool, where the kind is `toolCall`. */
      tool: z.string().optional(),
      amount: z.number(),
      unitUsd: z.number(),
      unit: z.number(),
      microUsd: z.number(),
    }),
  ),
  /** What else it cost: a summary of its conversation, attempts that were overtaken. */
  otherMicroUsd: z.number().nullable(),
});
export type RequestReply = z.infer<typeof RequestReply>;
export const RequestPage = page(RequestReply);

const COMMA = /,\s*/;

export type ShowRequest = (record: UsageRecord) => RequestReply;

/** @param traceUrl the address of a trace, with `{traceId}` */
export const createShowRequest =
  (traceUrl: string | undefined): ShowRequest =>
  (record) =>
    shownRequest(record, (id) => traceUrl?.replaceAll(TRACE_ID_PLACE, id) ?? null);

/** A usage record as the admin API shows it. */
function shownRequest(record: UsageRecord, traceUrlOf: (traceId: string) => string | null): RequestReply {
  const { detail = {}, consumption, costMicroUsd } = record;
  const { audioMs, ...counts } = consumption;
  const cost = detail.unitPrices === undefined ? [] : costParts(consumption, detail.unitPrices);
  const explained = cost.reduce((sum, { microUsd }) => sum + microUsd, 0);
  const attemptList = attemptsOf(record);
  const { traceId: id } = detail;
  const other = costMicroUsd === null ? null : costMicroUsd - explained;
  return {
    id: record.id,
    requestId: record.requestId ?? null,
    keyId: record.keyId,
    team: record.team,
    endpoint: record.endpoint,
    model: record.model,
    endUser: record.endUser ?? null,
    session: record.session ?? null,
    label: record.label ?? null,
    channel: record.channel,
    outcome: record.outcome,
    startedAt: new Date(record.startedAtMs).toISOString(),
    isStreamed: detail.isStreamed ?? false,
    isDraft: detail.isDraft ?? false,
    status: detail.status ?? null,
    errorCode: detail.errorCode ?? null,
    timing: {
      totalMs: record.durationMs,
      firstOutputMs: record.firstByteMs,
      queuedMs: detail.queuedMs ?? null,
      waitedMs: detail.waitedMs ?? null,
      upstreamMs: detail.upstreamMs ?? null,
    },
    trace: id === undefined ? null : { id, url: traceUrlOf(id) },
    // A job that failed is charged nothing, so its record counts no attempts; its error lists them.
    attempts: Math.max(record.attempts, attemptList.length),
    attemptList,
    dropped: detail.dropped === undefined ? [] : detail.dropped.split(COMMA),
    hooks: detail.hooks === undefined ? [] : [...readHookNotes(detail.hooks)],
    consumption: { ...counts, audioSeconds: audioMs / 1000 },
    content: detail.contentObject === undefined ? (detail.contentOmitted ?? 'off') : 'logged',
    estimated: record.estimated,
    costMicroUsd,
    cost,
    // Half a micro-dollar is the rounding of the cost.
    otherMicroUsd: other === null ? null : Math.abs(other) < 1 ? 0 : Math.round(other),
  };
}

function attemptsOf({ detail, channel, attempts }: UsageRecord): ShownAttempt[] {
  if (detail?.attempts !== undefined) return readAttempts(detail.attempts);
  return attempts === 1 && channel !== null && detail?.upstreamMs !== undefined
    ? [answeredAtOnce(channel, detail.upstreamMs)]
    : [];
}
