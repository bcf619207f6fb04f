import type { GatewayError } from '@gateway/contracts/gateway-error';
import { jsonIn } from '@gateway/contracts/json/json-object';
import { failureDetail } from '@gateway/contracts/usage/usage-detail';
import type { Consumption, UsageResult } from '@gateway/contracts/usage/usage-record';
import type { PendingEntry } from '@gateway/metering/limits/request-entry';
import { estimateOf } from '@gateway/metering/meter/estimate';
import type { Meter } from '@gateway/metering/meter/meter';
import { unitPricesOf } from '@gateway/metering/price/unit-prices';
import type { Caller } from '@gateway/model-service/caller';
import type { ContentLog } from '@gateway/model-service/content-log/content-log';
import {
  type CostlyRequest,
  type ReservedRequest,
  reserveRequest,
} from '@gateway/model-service/metered-request';
import { showAttempts } from '@gateway/model-service/show-attempts';
import { usageDetail } from '@gateway/model-service/usage-detail';
import { toGatewayError } from '@gateway/service-kit/error-response';
import { CallerLeft, endedRequest } from '@gateway/service-kit/request/request-context';
import type { Candidate } from '@gateway/upstream/candidate';
import type { Upstream } from '@gateway/upstream/upstream';
import { openContent } from './call-content.ts';
import { droppedNames } from './dropped-names.ts';
import { replyJson } from './reply-json.ts';
import { type Sending, sendParts, sumOf } from './send-parts.ts';

/** What calls of models work with. */
export interface ModelCallServices {
  readonly upstream: Upstream;
  readonly meter: Meter;
  readonly contentLog: ContentLog;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** What was reserved for a call. */
export interface ReservedCall extends Pick<ReservedRequest, 'settle' | 'givenBack'> {
  /** Whether it is called again after this failure: then this time is not logged. Default: it never is. */
  isTriedAgain?(failure: GatewayError): boolean;
}

/** The most that all parts of a call can consume and cost. */
export const largestOf = ({ model, parts }: Pick<Sending<unknown>, 'model' | 'parts'>): UsageResult =>
  estimateOf(model.price, sumOf(parts.map(({ largest }) => largest)));

/** A call of a model, which may take several requests to its providers. */
export interface ModelCall<Result> extends Sending<Result> {
  readonly endpoint: 'embeddings' | 'rerank' | 'moderations';
  readonly caller: Caller;
  readonly identity: CostlyRequest['identity'];
  readonly names: NonNullable<CostlyRequest['names']>;
  readonly entry: PendingEntry | undefined;
  /** The body as its caller sent it. */
  readonly bytes: Buffer;
  /** The body of the reply. */
  readonly write: (answer: Answer<Result>) => Buffer;
  /** What the content log has of the answer, where that is not the reply. */
  readonly shown?: (answer: Answer<Result>) => unknown;
}

/** A call of which is known how much it is. */
export interface SizedCall<Result> extends ModelCall<Result> {
  /** What gets a result each. */
  readonly inputs: number;
  /** What the body of the reply may have at most, as estimated. */
  readonly answerBytes: number;
}

/** What the parts came to, in their order. */
interface Answer<Result> {
  readonly results: readonly Result[];
  readonly consumption: Consumption;
  /** Some of it is the gateway's own number. */
  readonly estimated: boolean;
}

/**
 * Calls a model for a caller and answers: reserves the most that all parts can consume, sends them, settles what they have used, and names
 * to the caller who answered.
 *
 * @param reserve default: reserves it as the caller's own request
 * @throws {GatewayError} what reserving or the first failed part throws, after it was settled
 */
export async function callModel<Result>(
  service: ModelCallServices,
  call: ModelCall<Result>,
  reserve = (costly: CostlyRequest): Promise<ReservedCall> => reserveRequest(service, costly),
): Promise<void> {
  const { endpoint, model, caller, context, identity, names, entry } = call;
  const startedAt = performance.now();
  const estimate = largestOf(call);
  const costly = { endpoint, model: model.name, estimate, caller, names, identity, context, entry };
  const opening = openContent(service, call);
  const content = opening && (await opening);
  const metered = await reserve(costly).catch((error: unknown) => {
    content?.cancel();
    throw error;
  });
  const { answers, attempts, consumed, thrown } = await sendParts(service.upstream, call);
  const failure = thrown === undefined ? undefined : (endedRequest(context) ?? toGatewayError(thrown));
  const first = answers[0]?.candidate;
  const dropped = droppedNames(answers.flatMap((answer) => answer.dropped));
  const price = first === undefined ? model.price : model.priceAt(first.route);
  const durationMs = Math.round(performance.now() - startedAt);
  const hasLeft = context.signal.reason instanceof CallerLeft;
  void metered.settle({
    ...consumed,
    outcome: failure === undefined ? 'ok' : hasLeft ? 'left' : 'failed',
    durationMs,
    firstByteMs: failure === undefined ? durationMs : null,
    detail: {
      ...usageDetail({ attempts, dropped, unitPrices: price && unitPricesOf(price, consumed.consumption) }),
      ...(failure && failureDetail(failure, context.dialect)),
      ...content?.note,
    },
  });
  const { channel, costMicroUsd, consumption, estimated } = consumed;
  const { inputTokens } = consumption;
  Object.assign(context.line, { channel, account: first?.account.name, inputTokens, costMicroUsd });
  if (call.parts.length > 1) context.line.parts = call.parts.length;
  showAttempts(attempts, context, caller);
  await metered.givenBack();
  if (failure !== undefined) {
    if (metered.isTriedAgain?.(failure)) content?.cancel();
    else content?.end(channel, { answer: null, failure });
    throw failure;
  }
  noteAnswer(caller, { channels: answers.map((answer) => answer.candidate), dropped, estimated });
  const answer = { results: answers.map(({ result }) => result), consumption, estimated };
  const body = call.write(answer);
  replyJson(caller, context, body);
  content?.end(channel, { answer: call.shown?.(answer) ?? jsonIn(body.toString()) });
}

interface Noted {
  readonly channels: readonly Candidate[];
  readonly dropped: string;
  readonly estimated: boolean;
}

function noteAnswer(caller: Caller, { channels, dropped, estimated }: Noted): void {
  caller.note('x-gateway-channel', [...new Set(channels.map(({ channel }) => channel.name))].join(', '));
  if (dropped !== '') caller.note('x-gateway-dropped', dropped);
  if (estimated) caller.note('x-gateway-estimated', 'true');
}
