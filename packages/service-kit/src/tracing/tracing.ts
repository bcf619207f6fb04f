import type { IncomingHttpHeaders } from 'node:http';
import {
  type ContentPlace,
  newContext,
  RequestTrace,
  type Span,
  type Tracer,
} from '@gateway/contracts/trace/request-trace';
import {
  newSpanId,
  readTraceparent,
  TRACEPARENT_HEADER,
  type TraceContext,
} from '@gateway/contracts/trace/trace-context';
import type { Sampler } from './sampler.ts';

/** Begins the traces of a process. Undefined everywhere where none are exported. */
export interface Tracing {
  /** Where spans have what was asked and answered: nowhere, unless an operator asks for it. */
  readonly contentPlaces: readonly ContentPlace[];
  /** A request from outside. */
  fromCaller(headers: IncomingHttpHeaders): RequestTrace;
  /** What another process of the gateway has begun: its decision holds. */
  continued(traceparent: string | string[] | undefined, kind: 'internal' | 'consumer'): RequestTrace;
  /**
   * One of many requests of a connection: a trace of its own that refers to the connection's.
   *
   * @param ofCaller what the request itself says of its caller's trace, which it goes on with where the sampler lets it
   */
  linked(traceparent: string | string[] | undefined, ofCaller?: string): RequestTrace;
}

type Continued = Pick<RequestTrace, 'isSampled' | 'kind' | 'links'>;

export function createTracing(
  sampler: Sampler,
  write: (span: Span) => void,
  contentPlaces: readonly ContentPlace[] = [],
): Tracing {
  const begin = (links: readonly TraceContext[], kind: RequestTrace['kind']) =>
    new RequestTrace({ tracer, context: newContext(sampler.root()), links, kind });
  const tracer: Tracer = { write, begin };
  const below = (parent: TraceContext, { isSampled, kind, links }: Continued) => {
    const context = { traceId: parent.traceId, spanId: newSpanId(), isSampled };
    return new RequestTrace({ tracer, context, parent, links, kind });
  };
  const ofCaller = (header: string | undefined, links: readonly TraceContext[] = []) => {
    const caller = readTraceparent(header);
    if (caller === undefined) return begin(links, 'server');
    if (sampler.isLinked) return begin([...links, caller], 'server');
    return below(caller, { isSampled: sampler.continued(caller), kind: 'server', links });
  };
  return {
    contentPlaces,
    fromCaller: (headers) => ofCaller(headers[TRACEPARENT_HEADER]?.toString()),
    continued: (traceparent, kind) => {
      const parent = readTraceparent(traceparent);
      if (parent === undefined) return begin([], kind);
      // A job may be done long after: readers find its beginning by the link, too.
      const links = kind === 'consumer' ? [parent] : [];
      return below(parent, { isSampled: parent.isSampled, kind, links });
    },
    linked: (traceparent, caller) => {
      const connection = readTraceparent(traceparent);
      return ofCaller(caller, connection === undefined ? [] : [connection]);
    },
  };
}
