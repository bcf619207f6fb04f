import { MAX_CODE_LENGTH, type UsageDetail } from '@gateway/contracts/usage/usage-detail';
import type { UsageResult } from '@gateway/contracts/usage/usage-record';
import { consumptionOf, costOf, type KnownUsage, knownUsage, pricesOf } from '../metering/consumption.ts';
import { readUsageAtTier } from '../protocols/responses/reply/usage.ts';
import type { PendingResponse } from '../stored/pending-responses.ts';
import { answerLength } from '../wire/answer-length.ts';
import { type JsonObject, numberAt, objectAt, textAt } from '../wire/json-object.ts';
import { NO_USAGE, type Usage } from '../wire/usage.ts';

/** How a response's final states are put down. The others (`queued`, `in_progress`) are not final. */
const OUTCOMES = new Map<string | null, UsageResult['outcome']>([
  ['completed', 'ok'],
  ['incomplete', 'ok'],
  ['failed', 'failed'],
  ['cancelled', 'cancelled'],
]);

const MS_PER_SECOND = 1000;

/** Whether a response goes on without its caller, so that its usage comes later. */
export const isPending = (response: JsonObject): boolean =>
  response.background === true && !OUTCOMES.has(textAt(response, 'status'));

/** What a background response is booked with by what its provider shows of it; null while it has not ended. */
export function endingOf(pending: PendingResponse, response: JsonObject, nowMs: number): UsageResult | null {
  const outcome = OUTCOMES.get(textAt(response, 'status'));
  if (outcome === undefined) return null;
  const { subject, price, origin, estimate } = pending;
  const { usage, estimated } = usedBy(outcome, response, estimate);
  const completedAt = numberAt(response, 'completed_at');
  const endedAtMs = completedAt === null ? nowMs : completedAt * MS_PER_SECOND;
  return {
    outcome,
    channel: origin.channel,
    attempts: 1,
    durationMs: Math.max(0, Math.round(endedAtMs - subject.startedAtMs)),
    firstByteMs: null,
    consumption: consumptionOf(usage),
    estimated,
    costMicroUsd: costOf(price, usage),
    detail: { ...estimate.detail, ...detailOf(pending, response, usage) },
  };
}

/** How it ended, beside what was known when it began; a failed one has its provider's code, as its caller sees it. */
function detailOf({ price }: PendingResponse, response: JsonObject, usage: Usage): UsageDetail {
  const errorCode = textAt(objectAt(response, 'error') ?? {}, 'code')?.slice(0, MAX_CODE_LENGTH);
  const unitPrices = pricesOf(price, usage);
  return {
    ...(errorCode !== undefined && { errorCode }),
    ...(unitPrices !== null && { unitPrices }),
  };
}

/** A response that failed or was cancelled used what it reports, if anything; of an answer the rest is estimated. */
function usedBy(
  outcome: UsageResult['outcome'],
  response: JsonObject,
  { consumption: { inputTokens } }: UsageResult,
): KnownUsage {
  const reported = readUsageAtTier(response);
  if (outcome !== 'ok') return { usage: reported ?? NO_USAGE, estimated: false };
  return knownUsage(reported, true, { inputTokens, outputLength: () => answerLength(response) });
}

/** What is booked where the provider does not report how it ended. */
export const withoutEnding = (
  { estimate, origin, subject }: PendingResponse,
  nowMs: number,
): UsageResult => ({
  ...estimate,
  outcome: 'abandoned',
  channel: origin.channel,
  attempts: 1,
  durationMs: Math.max(0, nowMs - subject.startedAtMs),
  estimated: true,
});
