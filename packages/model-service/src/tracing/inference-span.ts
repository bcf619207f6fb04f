import type {
  AttemptTarget,
  ContentPlace,
  RequestTrace,
  SpanAttributes,
  TracedAttempt,
} from '@gateway/contracts/trace/request-trace';
import type { TraceContext } from '@gateway/contracts/trace/trace-context';
import type { UsageResult, UsageSubject } from '@gateway/contracts/usage/usage-record';
import type { Metered } from '@gateway/metering/meter/meter';
import type { LogFields, RequestContext } from '@gateway/service-kit/request/request-context';
import { BRIDGES, CONTENT_EVENT, GEN_AI, operationOf, providerName } from './gen-ai.ts';

/** What was requested of a model, and what it came to. */
export interface Inference {
  readonly subject: UsageSubject;
  readonly result: UsageResult;
  /** What its log line has beside that. */
  readonly line?: LogFields;
  /** Of one that another request has begun. */
  readonly place?: {
    readonly context: TraceContext;
    readonly parent: TraceContext;
    readonly startMs: number;
    /** Whom it was sent to; null: that is not configured any more. */
    readonly target: AttemptTarget | null;
  };
}

const MICRO_USD = 1e6;

/** Writes the span of a request to a model, and one of each attempt at a provider below it, when the request is settled. */
export function writeInference(trace: RequestTrace, { subject, result, line = {}, place }: Inference): void {
  if (!trace.isSampled) return;
  const { attempts, nowMs } = trace;
  trace.shared = sharedOf(subject, result);
  const answered = attempts.findLast(({ result: one }) => one?.outcome === 'ok');
  // It gave the answer to its end.
  if (answered !== undefined) answered.endMs = nowMs;
  const { name, outputType } = operationOf(subject.endpoint);
  writeWithContent(trace, {
    context: place?.context ?? trace.inference,
    parent: place?.parent ?? trace.context,
    links: [],
    startMs: place?.startMs ?? trace.startMs,
    endMs: nowMs,
    name: `${name} ${subject.model}`,
    kind: 'client',
    isFailed: result.outcome === 'failed' || result.outcome === 'cut',
    attributes: {
      // The first are what samplers of collectors decide by.
      [GEN_AI.operation]: name,
      [GEN_AI.outputType]: outputType,
      [GEN_AI.requestModel]: subject.model,
      ...placeOf(answered ?? attempts.at(-1) ?? place?.target ?? undefined),
      ...responseOf(result, answered ?? place?.target ?? undefined, line),
      ...trace.noted,
      // A stream that broke off has no end of its own.
      ...(result.outcome === 'cut' && { [GEN_AI.finishReasons]: ['error'] }),
      ...usageOf(result),
      ...gatewayAttributes(subject, result, trace),
    },
  });
  writeAttempts(trace);
}

/** Writes the spans of a request's attempts so far. */
export function writeAttempts(trace: RequestTrace): void {
  for (const attempt of trace.attempts.splice(0)) writeAttempt(trace, attempt);
}

/** What was asked and answered is known when the caller has it, and after that was redacted. */
function writeWithContent(trace: RequestTrace, span: Parameters<RequestTrace['write']>[0]): void {
  const { content } = trace;
  if (content === null) {
    trace.write(span);
    return;
  }
  const isIn = (place: ContentPlace) => content.places.includes(place);
  void content.attributes.then((attributes) => {
    const events =
      attributes !== null && isIn('event') ? [{ name: CONTENT_EVENT, atMs: trace.nowMs, attributes }] : [];
    const own = isIn('span') ? { ...span.attributes, ...attributes } : span.attributes;
    trace.write({ ...span, attributes: own, events });
  });
}

/** The settling of a request that is traced also writes its spans, and its record names the trace. Nothing where none are exported. */
export function tracedSettle(
  { settle }: Pick<Metered, 'settle'>,
  { context, subject }: { readonly context: RequestContext; readonly subject: UsageSubject },
): Partial<Pick<Metered, 'settle'>> {
  const { trace, line } = context;
  if (trace === undefined || !trace.isSampled) return {};
  let isWritten = false;
  return {
    settle: (result) => {
      // Only the first call counts.
      if (!isWritten) writeInference(trace, { subject, result, line });
      isWritten = true;
      return settle({ ...result, detail: { ...result.detail, traceId: trace.context.traceId } });
    },
  };
}

/** Langfuse reads them on every span of a trace. */
const sharedOf = (
  { endUser, session, label, team }: UsageSubject,
  result: UsageResult,
): SpanAttributes | null => {
  const tags = [label, team].filter((one) => typeof one === 'string');
  const named = session ?? result.session;
  if (endUser === undefined && named === undefined && tags.length === 0) return null;
  return {
    [BRIDGES.user]: endUser,
    [BRIDGES.session]: named,
    [BRIDGES.tags]: tags.length > 0 ? tags : undefined,
  };
};

function placeOf(attempt: AttemptTarget | undefined): SpanAttributes {
  if (attempt === undefined) return {};
  return { [GEN_AI.provider]: providerName(attempt.provider), ...channelServer(attempt) };
}

export function serverOf(url: string): SpanAttributes {
  const { hostname, port, protocol } = new URL(url);
  return { 'server.address': hostname, 'server.port': Number(port) || (protocol === 'http:' ? 80 : 443) };
}

/** By the origins of channels, which are few and configured. */
const servers = new Map<string, SpanAttributes>();
const MAX_SERVERS = 1000;

function channelServer({ origin }: Pick<AttemptTarget, 'origin'>): SpanAttributes {
  const known = servers.get(origin);
  if (known !== undefined) return known;
  if (servers.size >= MAX_SERVERS) servers.clear();
  const server = serverOf(origin);
  servers.set(origin, server);
  return server;
}

const responseOf = (
  { firstByteMs, detail = {}, outcome }: UsageResult,
  answered: AttemptTarget | undefined,
  line: LogFields,
): SpanAttributes => ({
  [GEN_AI.requestStream]: detail.isStreamed,
  [GEN_AI.responseModel]: answered?.model,
  [GEN_AI.responseId]: textIn(line.responseId),
  [GEN_AI.conversationId]: textIn(line.conversationId),
  [GEN_AI.compacted]: line.compaction === undefined ? undefined : true,
  [GEN_AI.timeToFirstChunk]: detail.isStreamed && firstByteMs !== null ? firstByteMs / 1000 : undefined,
  'error.type': detail.errorCode ?? (outcome === 'ok' ? undefined : outcome),
});

const textIn = (value: LogFields[string]): string | undefined =>
  typeof value === 'string' ? value : undefined;

/** Counts of zero are left out: of images there are no tokens. */
function usageOf({ consumption, costMicroUsd }: UsageResult): SpanAttributes {
  const cost = costMicroUsd === null ? undefined : costMicroUsd / MICRO_USD;
  return {
    [GEN_AI.inputTokens]: consumption.inputTokens || undefined,
    [GEN_AI.outputTokens]: consumption.outputTokens || undefined,
    [GEN_AI.cacheReadTokens]: consumption.cachedInputTokens || undefined,
    [GEN_AI.cacheWriteTokens]: consumption.cacheWriteTokens || undefined,
    [GEN_AI.reasoningTokens]: consumption.reasoningTokens || undefined,
    [BRIDGES.cost]: cost,
    'gateway.cost.usd': cost,
    'gateway.images': consumption.images || undefined,
    'gateway.characters': consumption.characters || undefined,
    'gateway.audio.seconds': consumption.audioMs / 1000 || undefined,
  };
}

const gatewayAttributes = (
  { id, requestId, keyId, team }: UsageSubject,
  { outcome, channel, attempts, estimated, detail = {} }: UsageResult,
  trace: RequestTrace,
): SpanAttributes => ({
  'gateway.request.id': requestId,
  'gateway.usage.id': id,
  'gateway.key.id': keyId,
  'gateway.team': team,
  'gateway.outcome': outcome,
  'gateway.channel': channel,
  'gateway.account': trace.attempts.findLast(({ result }) => result?.outcome === 'ok')?.account,
  'gateway.attempts': attempts,
  'gateway.hedged': trace.attempts.some(({ result }) => result?.isHedge) || undefined,
  'gateway.dropped': detail.dropped?.split(', '),
  'gateway.hooks': detail.hooks,
  'gateway.usage.estimated': estimated || undefined,
});

function writeAttempt(trace: RequestTrace, attempt: TracedAttempt): void {
  const { context, startMs, endMs, result, channel, account, model } = attempt;
  const outcome = result?.outcome ?? 'left';
  trace.write({
    context,
    parent: trace.inference,
    links: [],
    name: `attempt ${channel}`,
    kind: 'client',
    startMs,
    endMs: result === null ? trace.nowMs : endMs,
    isFailed: outcome !== 'ok' && outcome !== 'overtaken' && outcome !== 'left',
    attributes: {
      'http.request.method': 'POST',
      'http.response.status_code': result?.status,
      'error.type': outcome === 'ok' ? undefined : outcome,
      ...channelServer(attempt),
      'gateway.channel': channel,
      'gateway.account': account,
      'gateway.attempt.model': model,
      'gateway.attempt.outcome': outcome,
      'gateway.hedged': result?.isHedge || undefined,
    },
  });
}
