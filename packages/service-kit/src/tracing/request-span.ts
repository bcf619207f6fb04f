import type { RequestOutcome } from '../metrics.ts';
import type { RequestContext } from '../request/request-context.ts';

interface EndedRequest {
  readonly method: string | undefined;
  /** The pattern of its path. */
  readonly endpoint: string;
  readonly status: number;
  readonly outcome: RequestOutcome;
  readonly context: RequestContext;
}

/** Writes the span of a request, from what its log line has. Does nothing where no traces are exported. */
export function writeRequestSpan({ method, endpoint, status, outcome, context }: EndedRequest): void {
  const { trace, identity, failure, requestId, line } = context;
  if (trace === undefined || !trace.isSampled) return;
  trace.write({
    name: `${method ?? 'GET'} ${endpoint}`,
    // Of a server only its own failures are errors.
    isFailed: outcome === 'failed',
    attributes: {
      'http.request.method': method,
      'http.route': endpoint,
      'http.response.status_code': status,
      'error.type': failure?.code,
      'gateway.request.id': requestId,
      'gateway.key.id': identity?.keyId,
      'gateway.team': identity?.team,
      'gateway.outcome': outcome,
      'gateway.refused_by': outcome === 'refused' && failure !== undefined ? failure.source : undefined,
      'gateway.transport': textIn(line.transport),
    },
  });
}

const textIn = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
