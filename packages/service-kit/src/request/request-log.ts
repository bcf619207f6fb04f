import type { IncomingMessage, ServerResponse } from 'node:http';
import type { GatewayError } from '@gateway/contracts/gateway-error';
import { createLineWriter, type Logger } from '../logger.ts';
import type { Metrics, RequestOutcome } from '../metrics.ts';
import { writeRequestSpan } from '../tracing/request-span.ts';
import type { LogFields, RequestContext } from './request-context.ts';

type Observe = (
  request: IncomingMessage,
  response: ServerResponse,
  context: RequestContext,
  endpoint: string,
) => void;

export interface RequestLog {
  /** Begins to measure a request. Returns what writes its one line, and counts it, when its reply has ended. */
  begin(request: LoggedRequest, context: RequestContext, endpoint: string): (end: ReplyEnd) => void;
  /** The same for a request over HTTP. */
  readonly observe: Observe;
  /** Only counts it: the edge in this process writes its line. */
  readonly count: Observe;
}

type LoggedRequest = Pick<IncomingMessage, 'method' | 'url'>;

/** How a reply has ended. */
interface ReplyEnd {
  readonly status: number;
  /** Whether its caller has all of it. */
  readonly isAnswered: boolean;
}

/** The name in log and metrics for the path of a request that reached no endpoint. */
export const UNKNOWN_PATH = 'unknown';

export function createRequestLog({ logger, metrics }: { logger: Logger; metrics: Metrics }): RequestLog {
  const writeLine = createLineWriter(logger);
  const measure = (context: RequestContext, endpoint: string) => {
    const startedAt = performance.now();
    return (end: ReplyEnd) => {
      const durationMs = performance.now() - startedAt;
      const outcome = outcomeOf(end, context);
      const status = outcome === 'left' ? 499 : end.status;
      metrics.request({ endpoint, status, outcome }, durationMs, context.trace);
      return { durationMs, outcome, status };
    };
  };
  const begin: RequestLog['begin'] = (request, context, endpoint) => {
    const measured = measure(context, endpoint);
    return (end) => {
      const { durationMs, outcome, status } = measured(end);
      const head = {
        method: request.method,
        path: endpoint,
        requestedPath: endpoint === UNKNOWN_ENDPOINT ? pathOf(request) : undefined,
        requestId: context.requestId,
        keyId: context.identity?.keyId,
        ...traceFields(context),
        status,
        outcome,
        durationMs: Math.round(durationMs * 100) / 100,
      };
      writeLine(outcome === 'failed' ? 'error' : 'info', head, context.line, failureFields(context.failure));
      writeRequestSpan({ method: request.method, endpoint, status, outcome, context });
    };
  };
  const whenClosed = (response: ServerResponse, end: (end: ReplyEnd) => void) =>
    response.once('close', () => end({ status: response.statusCode, isAnswered: response.writableFinished }));
  return {
    begin,
    observe: (request, response, context, endpoint) =>
      void whenClosed(response, begin(request, context, endpoint)),
    count: (_request, response, context, endpoint) => void whenClosed(response, measure(context, endpoint)),
  };
}

/** The name of every unknown path in log and metrics. */
const UNKNOWN_ENDPOINT = 'unknown';
const MAX_PATH_CHARS = 200;

/** Without the query, which may hold secrets. */
const pathOf = ({ url = '' }: LoggedRequest): string =>
  url.split(/[?#]/, 1)[0]?.slice(0, MAX_PATH_CHARS) ?? '';

function outcomeOf(
  { status, isAnswered }: ReplyEnd,
  { failure, upgraded }: Pick<RequestContext, 'failure' | 'upgraded'>,
): RequestOutcome {
  if (upgraded === true) return failure === undefined ? 'ok' : 'failed';
  if (!isAnswered && failure === undefined) return 'left';
  if (status >= 500) return 'failed';
  if (status >= 400) return 'refused';
  return failure === undefined ? 'ok' : 'failed';
}

const NO_TRACE: LogFields = {};

/** By which the line and its span are found from each other. */
const traceFields = ({ trace }: RequestContext): LogFields =>
  trace === undefined ? NO_TRACE : { traceId: trace.context.traceId, spanId: trace.context.spanId };

const NO_FAILURE: LogFields = {};

function failureFields(failure: GatewayError | undefined): LogFields {
  if (failure === undefined) return NO_FAILURE;
  const { cause } = failure.options;
  return {
    'error.code': failure.code,
    'error.source': failure.source,
    ...(cause === undefined
      ? {}
      : { 'error.cause': cause instanceof Error ? (cause.stack ?? cause.message) : String(cause) }),
  };
}
