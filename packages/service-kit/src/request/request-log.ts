import type { IncomingMessage, ServerResponse } from 'node:http';
import type { GatewayError } from '@gateway/contracts/gateway-error';
import { createLineWriter, type Logger } from '../logger.ts';
import type { Metrics, RequestOutcome } from '../metrics.ts';
import type { LogFields, RequestContext } from './request-context.ts';

export interface RequestLog {
  /** Writes the request's one line, and counts it, when its reply has ended. */
  observe(
    request: IncomingMessage,
    response: ServerResponse,
    context: RequestContext,
    endpoint: string,
  ): void;
}

/** The name in log and metrics for the path of a request that reached no endpoint. */
export const UNKNOWN_PATH = 'unknown';

export function createRequestLog({ logger, metrics }: { logger: Logger; metrics: Metrics }): RequestLog {
  const writeLine = createLineWriter(logger);
  return {
    observe: (request, response, context, endpoint) => {
      const startedAt = performance.now();
      response.once('close', () => {
        const durationMs = performance.now() - startedAt;
        const outcome = outcomeOf(response, context);
        const status = outcome === 'left' ? 499 : response.statusCode;
        metrics.request({ endpoint, status, outcome }, durationMs);
        const head = {
          method: request.method,
          path: endpoint,
          requestedPath: endpoint === UNKNOWN_ENDPOINT ? pathOf(request) : undefined,
          requestId: context.requestId,
          keyId: context.identity?.keyId,
          status,
          outcome,
          durationMs: Math.round(durationMs * 100) / 100,
        };
        writeLine(
          outcome === 'failed' ? 'error' : 'info',
          head,
          context.line,
          failureFields(context.failure),
        );
      });
    },
  };
}

/** The name of every unknown path in log and metrics. */
const UNKNOWN_ENDPOINT = 'unknown';
const MAX_PATH_CHARS = 200;

/** Without the query, which may hold secrets. */
const pathOf = ({ url = '' }: IncomingMessage): string =>
  url.split(/[?#]/, 1)[0]?.slice(0, MAX_PATH_CHARS) ?? '';

function outcomeOf(
  response: ServerResponse,
  { failure, upgraded }: Pick<RequestContext, 'failure' | 'upgraded'>,
): RequestOutcome {
  if (upgraded === true) return failure === undefined ? 'ok' : 'failed';
  if (!response.writableFinished && failure === undefined) return 'left';
  if (response.statusCode >= 500) return 'failed';
  if (response.statusCode >= 400) return 'refused';
  return failure === undefined ? 'ok' : 'failed';
}

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
