import type { IncomingHttpHeaders } from 'node:http';
import { newContext, RequestTrace, type Span, type Tracer } from '@gateway/contracts/trace/request-trace';
import {
  newSpanId,
  readTraceparent,
  TRACEPARENT_HEADER,
  type TraceContext,
} from '@gateway/contracts/trace/trace-context';
import type { Sampler } from './sampler.ts';

/** Begins the traces of a process. Undefined everywhere where none are exported. */
export interface Tracing {
  /** A request from outside. */
  fromCaller(headers: IncomingHttpHeaders): RequestTrace;
  /** What another process of the gateway has begun: its decision holds. */
  continued(traceparent: string | string[] | undefined, kind: 'internal' | 'consumer'): RequestTrace;
  /** One of many requests of a connection: a trace of its own that refers to the connection's. */
  linked(traceparent: string | string[] | undefined): RequestTrace;
}

export function createTracing(sampler: Sampler, write: (span: Span) => void): Tracing {
  const begin = (links: readonly TraceContext[], kind: RequestTrace['kind']) =>
    new RequestTrace({ tracer, context: newContext(sampler.root()), links, kind });
  const tracer: Tracer = { write, begin };
  const below = (parent: TraceContext, isSampled: boolean, kind: RequestTrace['kind']) => {
    const context = { traceId: parent.traceId, spanId: newSpanId(), isSampled };
    // A job may be done long after: readers find its beginning by the link, too.
    const links = kind === 'consumer' ? [parent] : [];
    return new RequestTrace({ tracer, context, parent, links, kind });
  };
  return {
    fromCaller: (headers) => {
      const caller = readTraceparent(headers[TRACEPARENT_HEADER]?.toString());
      if (caller === undefined) return begin([], 'server');
      if (sampler.isLinked) return begin([caller], 'server');
      return below(caller, sampler.continued(caller), 'server');
    },
    continued: (traceparent, kind) => {
      const parent = readTraceparent(traceparent);
      return parent === undefined ? begin([], kind) : below(parent, parent.isSampled, kind);
    },
    linked: (traceparent) => {
      const connection = readTraceparent(traceparent);
      return begin(connection === undefined ? [] : [connection], 'server');
    },
  };
}
