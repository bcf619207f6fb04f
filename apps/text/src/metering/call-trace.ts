import type { AttemptTarget, RequestTrace } from '@gateway/contracts/trace/request-trace';
import { readTraceparent, traceparentOf } from '@gateway/contracts/trace/trace-context';
import type { UsageResult } from '@gateway/contracts/usage/usage-record';
import { finishReason, GEN_AI } from '@gateway/model-service/tracing/gen-ai';
import { writeAttempts, writeInference } from '@gateway/model-service/tracing/inference-span';
import { requestParameters } from '@gateway/model-service/tracing/request-parameters';
import type { RequestContext } from '@gateway/service-kit/request/request-context';
import type { Tracing } from '@gateway/service-kit/tracing/tracing';
import type { PendingResponse } from '../stored/pending-responses.ts';
import { type Answered, answeredIn } from '../wire/answered-in.ts';
import type { JsonObject } from '../wire/json-object.ts';

/** Notes what a request asks for, for its span. Of what was read elsewhere nothing is read again. */
export function traceRequest({ trace }: RequestContext, { checked }: { readonly checked?: unknown }): void {
  if (trace?.isSampled) Object.assign(trace.noted, requestParameters(checked));
}

/** Notes who has answered a call and how that ended, for its span. */
export function traceAnswer({ trace }: RequestContext, read: () => Answered): void {
  if (trace?.isSampled) noteAnswer(trace, read());
}

const MAX_MODEL_LENGTH = 256;
const MAX_ENDS = 128;

function noteAnswer(trace: RequestTrace, { model, ends }: Answered): void {
  if (model !== null) trace.noted[GEN_AI.responseModel] = model.slice(0, MAX_MODEL_LENGTH);
  const words = ends.filter((end) => typeof end === 'string' || typeof end === 'number');
  if (words.length > 0) trace.noted[GEN_AI.finishReasons] = words.slice(0, MAX_ENDS).map(finishReason);
}

/** Where the span of a response belongs whose provider goes on with it: it is written when that has ended. */
export function traceOfPending({ trace }: RequestContext): Pick<PendingResponse, 'trace'> {
  if (!trace?.isSampled) return {};
  writeAttempts(trace);
  return { trace: { traceparent: traceparentOf(trace.inference), parentSpanId: trace.context.spanId } };
}

/** Writes that span. */
export function tracePending(
  tracing: Tracing | undefined,
  { trace: own, subject, id }: PendingResponse,
  {
    target,
    result,
    shown,
  }: { readonly target: AttemptTarget | null; readonly result: UsageResult; readonly shown: JsonObject },
): void {
  const context = readTraceparent(own?.traceparent);
  if (tracing === undefined || own === undefined || context === undefined) return;
  const trace = tracing.continued(own.traceparent, 'internal');
  noteAnswer(trace, answeredIn(shown));
  const parent = { ...context, spanId: own.parentSpanId };
  const place = { context, parent, startMs: subject.startedAtMs, target };
  writeInference(trace, { subject, result, line: { responseId: id }, place });
}
