import type { ErrorCode } from '@gateway/contracts/error-codes';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { MAX_CALLER_NAME_LENGTH } from '@gateway/contracts/usage/caller-names';
import { failureDetail } from '@gateway/contracts/usage/usage-detail';
import {
  type Consumption,
  NOTHING_CONSUMED,
  type UsageOutcome,
  type UsageResult,
} from '@gateway/contracts/usage/usage-record';
import { mayBeBilled } from '@gateway/contracts/usage/usage-without-reply';
import { mostMicroUsd } from '@gateway/metering/price/cost';
import { mostToolCalls } from '@gateway/metering/price/most-tool-calls';
import {
  type CostlyRequest,
  type ReservedJob,
  reserveJob,
  reserveRequest,
} from '@gateway/model-service/metered-request';
import { usageDetail } from '@gateway/model-service/usage-detail';
import { CallerLeft } from '@gateway/service-kit/request/request-context';
import type { Route } from '@gateway/upstream/configuration/configuration';
import type { Reply } from '@gateway/upstream/replies/reply';
import { traceOfPending } from '../../metering/call-trace.ts';
import {
  consumptionOf,
  costOf,
  type Estimates,
  estimatedTokens,
  pricesOf,
  usageOfConsumption,
} from '../../metering/consumption.ts';
import { originAt } from '../../stored/origins/maker.ts';
import { addUsage, NO_USAGE, type Usage } from '../../wire/usage.ts';
import { namesIn, namesOf } from '../request/conversation-key.ts';
import { unsizedHistory } from '../request/earlier-input.ts';
import { MAX_SUMMARY_TOKENS } from '../request/requested-compaction.ts';
import type { OpenedCall, Reservation, TextCall } from '../request/text-call.ts';
import { type CallOutcome, type Consumed, consumedOf, NOTHING_KNOWN } from './outcome.ts';

/**
 * Bytes of request per token of input, on the high side: English text has about four, source code three, and a request
 * in Chinese about as many tokens as characters of three bytes each.
 */
const BYTES_PER_TOKEN = 2;
/** No model takes more input; inline files weigh many more bytes than tokens. */
const MAX_INPUT_TOKENS = 1_000_000;
/** For models whose bound nobody has configured, where the request sets none. */
const MAX_OUTPUT_TOKENS = 32_768;

/** Of one tool, where the request bounds them nowhere: more than providers let a model do in one answer. */
const MAX_TOOL_CALLS = 100;

/** The lowest rate of a recording that anybody sends, and the fewest tokens of a second of it. */
const BYTES_PER_SECOND = 1000;
const TOKENS_PER_SECOND = 10;
const MS_PER_SECOND = 1000;

/** The most that a call can consume: reserved before the upstream is called. */
interface Largest {
  /** The requests that it takes, by what their bytes and bounds tell: its answer, and the summary of its conversation. */
  readonly requests: readonly Consumption[];
  /** What its answer can consume, where it names input of unknown size; null where it names none, or has no budget. */
  readonly unsized: Consumption | null;
}

function largestOf(call: OpenedCall): Largest {
  const { request, model } = call;
  const { output } = request;
  const bound = model.contextWindow ?? MAX_INPUT_TOKENS;
  const inputTokens = Math.min(bound, Math.ceil(inputLengthOf(call) / BYTES_PER_TOKEN));
  const outputTokens = output.answers * (output.tokens ?? model.maxOutputTokens ?? MAX_OUTPUT_TOKENS);
  const tokens = { ...NOTHING_CONSUMED, inputTokens, outputTokens: Math.min(outputTokens, MAX_COUNT) };
  const answer = withToolCalls(call, tokens, 0);
  // Its summary is a request of its own.
  const order = request.compaction?.order ?? null;
  const mayCompact = order !== null && inputTokens > (order.aboveTokens ?? 0);
  const summary = { ...tokens, outputTokens: MAX_SUMMARY_TOKENS };
  return { requests: mayCompact ? [answer, summary] : [answer], unsized: unsizedOf(call, answer) };
}

/** More tokens than that are more than any budget and limit covers. */
const MAX_COUNT = 1e12;

function unsizedOf(call: OpenedCall, answer: Consumption): Consumption | null {
  const { request, history, model, identity } = call;
  if (identity.accounts.every(({ budget }) => budget === null)) return null;
  const { tokens, hearsSound } = request.unsized;
  const named = tokens + unsizedHistory(history);
  if (named === 0 && !hearsSound) return null;
  const bound = model.contextWindow ?? model.largestContextWindow ?? MAX_INPUT_TOKENS;
  const inputTokens = Math.max(answer.inputTokens, Math.min(bound, answer.inputTokens + named));
  const seconds = hearsSound
    ? Math.max(inputLengthOf(call) / BYTES_PER_SECOND, inputTokens / TOKENS_PER_SECOND)
    : 0;
  const largest = { ...answer, inputTokens, audioMs: Math.ceil(seconds) * MS_PER_SECOND };
  return withToolCalls(call, largest, MAX_TOOL_CALLS);
}

/** The same with the calls of tools that cost the most. */
function withToolCalls(
  { model: { price }, request: { unsized, output } }: OpenedCall,
  consumption: Consumption,
  unbounded: number,
): Consumption {
  if (price?.perThousandToolCalls === undefined) return consumption;
  const calls = Object.entries(mostToolCalls(price, unsized.tools, unbounded));
  const toolCalls = calls.map(
    ([tool, count]) => [tool, Math.min(MAX_COUNT, output.answers * count)] as const,
  );
  return toolCalls.length === 0 ? consumption : { ...consumption, toolCalls: Object.fromEntries(toolCalls) };
}

/**
 * Lets a call in: reserves the most that it can consume on the caller's limits and budgets.
 *
 * @throws {GatewayError} where a limit or a budget does not cover it, before any upstream is called
 */
export async function reserve(call: OpenedCall): Promise<Reservation> {
  const costly = costlyRequest(call);
  return { ...(await reserveRequest(call.services, costly)), estimate: costly.estimate };
}

/** The same for two attempts side by side; null where only one is covered. */
export async function reserveTwice(call: OpenedCall): Promise<Reservation | null> {
  const costly = costlyRequest(call, 2);
  try {
    const reserved = await reserveRequest(call.services, { ...costly, isTentative: true });
    return { ...reserved, estimate: costly.estimate };
  } catch (error) {
    if (isNotCovered(error)) return null;
    throw error;
  }
}

const NOT_COVERED: ReadonlySet<ErrorCode> = new Set([
  'rate_limited',
  'rate_limited_tokens',
  'budget_exhausted',
]);

/** Whether this is why a limit or a budget refused a reservation. */
export const isNotCovered = (error: unknown): boolean =>
  error instanceof GatewayError && NOT_COVERED.has(error.code);

/** The same for a call that a job makes; the job's end settles it. @throws {GatewayError} as `reserve` */
export const reserveForJob = (call: OpenedCall, jobId: string): Promise<ReservedJob> =>
  reserveJob(call.services, 'text.response', costlyRequest(call), { jobId, isDetached: false });

/** The most that so many requests for a call can consume and cost. */
export function costlyRequest(call: OpenedCall, attempts = 1): CostlyRequest {
  const { endpoint, request, model, caller, identity, context, entry } = call;
  const { requests, unsized } = largestOf(call);
  const { price } = model;
  const most = (all: readonly Consumption[]): number | null => {
    if (price === null) return null;
    const once = all.reduce((sum, one) => sum + mostMicroUsd(price, one, {}, request.tiers), 0);
    return Math.min(attempts * once, Number.MAX_SAFE_INTEGER);
  };
  const total = (name: 'inputTokens' | 'outputTokens') =>
    attempts * requests.reduce((sum, consumption) => sum + consumption[name], 0);
  const estimate: UsageResult = {
    outcome: 'ok',
    channel: null,
    attempts: 0,
    durationMs: 0,
    firstByteMs: null,
    consumption: {
      ...NOTHING_CONSUMED,
      inputTokens: total('inputTokens'),
      outputTokens: total('outputTokens'),
    },
    estimated: true,
    costMicroUsd: most(requests),
  };
  const mostOfAll = unsized === null ? null : most([unsized, ...requests.slice(1)]);
  return {
    endpoint: endpoint.scope,
    model: request.model,
    caller,
    names: namesIn(endpoint.protocol, request, caller.headers, call.history),
    identity,
    context,
    entry,
    estimate,
    ...(mostOfAll !== null && { mostMicroUsd: mostOfAll }),
  };
}

/** Settles a call, or leaves its reservation to the process that books the response's usage when it ends. */
export async function settle(call: TextCall, reservation: Reservation, outcome: CallOutcome): Promise<void> {
  const { background } = call.services;
  const { pendingId } = outcome;
  // It was refused, like what a limit refuses.
  if (isBlockedBefore(outcome)) return reservation.release();
  if (pendingId === null) return reservation.settle(resultOf(call, outcome));
  if (await reservation.keep(background.leaseMs)) return;
  await background.forget(pendingId).catch(() => undefined);
  const { consumption, costMicroUsd } = reservation.estimate;
  await reservation.settle({ ...resultOf(call, outcome), consumption, costMicroUsd, estimated: true });
}

/** Whether a hook has blocked a call before a provider got it. */
export const isBlockedBefore = ({ thrown, attempts }: CallOutcome): boolean =>
  attempts.length === 0 && thrown instanceof GatewayError && thrown.code === 'guardrail_blocked';

/**
 * The result of a call that is over. Where no upstream has begun to answer nothing is charged, but the input where one
 * may have worked on it: the caller left, or a time limit ran out.
 */
export function resultOf(
  call: TextCall,
  { candidate, attempts, unread, discarded, firstByteMs, thrown, ...consumed }: CallOutcome,
): UsageResult {
  const { model, startedAt, context } = call;
  const unanswered =
    candidate === null && attempts.length > 0 && thrown instanceof GatewayError && mayBeBilled(thrown.code);
  const spent = call.compacted?.spent;
  const lost = [...discarded, ...(spent?.discarded ?? [])];
  const all = [consumed, ...lost, ...(spent === undefined ? [] : [spent])];
  const estimated = unanswered || unread.others.length > 0 || all.some((one) => one.estimated);
  const answer = unanswered ? inputOf(call) : (consumed.usage ?? NO_USAGE);
  const hasBegun = candidate !== null || unanswered;
  const priceAt = (route: Route | null | undefined) => (route ? model.priceAt(route) : model.price);
  const price = priceAt(candidate?.route ?? unread.own);
  const further = [
    ...lost.flatMap((one) =>
      one.usage === null ? [] : [{ usage: one.usage, price: priceAt(one.candidate.route) }],
    ),
    ...unread.others.map((route) => ({ usage: inputOf(call), price: priceAt(route) })),
    ...(spent === undefined ? [] : [{ usage: spent.usage, price: priceAt(spent.candidate.route) }]),
  ];
  // Each is priced by itself: a long input may have another price, and another route.
  const charged = hasBegun ? [{ usage: answer, price }, ...further] : further;
  const cost = charged.reduce<number | null>((sum, one) => {
    const own = costOf(one.price, one.usage);
    return sum === null || own === null ? null : sum + own;
  }, model.price && 0);
  context.line.costMicroUsd = cost;
  if (unread.others.length > 0) context.line.usageEstimated = true;
  const outcome = outcomeOf(call, { firstByteMs, thrown });
  const { dropped } = context.line;
  const failure = outcome === 'ok' ? undefined : thrown instanceof GatewayError ? thrown : context.failure;
  const went = usageDetail({
    attempts,
    dropped: typeof dropped === 'string' ? dropped : null,
    isStreamed: call.request.streamed,
    isDraft: call.identity.draft !== undefined,
    unitPrices: hasBegun ? pricesOf(price, answer) : null,
  });
  const detail = { ...went, ...call.content?.note, ...call.hooks?.note };
  return {
    outcome,
    channel: candidate?.channel.name ?? spent?.candidate.channel.name ?? null,
    attempts: attempts.length + (spent?.attempts ?? 0),
    durationMs: Math.round(performance.now() - startedAt),
    firstByteMs,
    consumption: consumptionOf(further.reduce((sum, { usage }) => addUsage(usage, sum), answer)),
    estimated,
    costMicroUsd: cost,
    ...chainSession(call),
    detail: failure === undefined ? detail : { ...detail, ...failureDetail(failure, context.dialect) },
  };
}

/** The session of a stored response whose caller named none: the responses that continue it have the same. */
function chainSession(call: TextCall): Pick<UsageResult, 'session'> {
  const { responseId, responseKept } = call.context.line;
  const begins = typeof responseId === 'string' && responseKept === undefined;
  return begins && namesOf(call).session === undefined
    ? { session: responseId.slice(0, MAX_CALLER_NAME_LENGTH) }
    : {};
}

const inputOf = (call: TextCall): Usage => ({
  ...NO_USAGE,
  inputTokens: estimatedTokens(inputLengthOf(call)),
});

/** What is estimated for a call whose upstream reports nothing, or what cannot be true. */
export const estimatesFor = (call: TextCall, outputLength: () => number): Estimates => ({
  inputTokens: estimatedTokens(inputLengthOf(call)),
  outputLength: () => Math.max(0, outputLength() - (call.request.output.echoedLength ?? 0)),
});

/** The bytes of a request with those of what it names. */
export const inputLengthOf = ({
  request,
  history,
  compacted,
}: OpenedCall & Pick<TextCall, 'compacted'>): number =>
  compacted?.inputLength ?? request.inputLength + history.bytes;

function outcomeOf(
  { context }: TextCall,
  { firstByteMs, thrown }: Pick<CallOutcome, 'firstByteMs' | 'thrown'>,
): UsageOutcome {
  if (context.signal.reason instanceof CallerLeft) return 'left';
  if (thrown === undefined && context.failure === undefined) return 'ok';
  if (thrown instanceof GatewayError && thrown.code === 'client_closed_request') return 'left';
  return firstByteMs === null ? 'failed' : 'cut';
}

/** Has the usage of a response that goes on without its caller booked when it ends. Without Redis it is estimated now. */
export async function storePending(call: TextCall, reply: Reply, id: string): Promise<Consumed> {
  const { services, reservation, identity, model, context } = call;
  if (reservation === null) return NOTHING_KNOWN;
  const { subject, estimate } = reservation;
  const origin = originAt(reply.candidate, identity.keyId);
  try {
    const detail = {
      ...usageDetail({
        attempts: reply.attempts,
        dropped: reply.dropped.join(', '),
        isStreamed: call.request.streamed,
      }),
      ...call.content?.note,
      ...call.hooks?.note,
    };
    const pending = {
      id,
      origin,
      subject,
      estimate: { ...estimate, detail },
      price: model.priceAt(reply.candidate.route),
      ...traceOfPending(context),
    };
    await services.background.add(pending);
    context.line.usagePending = true;
    return { ...NOTHING_KNOWN, pendingId: id };
  } catch {
    return consumedOf({ usage: usageOfConsumption(estimate.consumption), estimated: true });
  }
}
