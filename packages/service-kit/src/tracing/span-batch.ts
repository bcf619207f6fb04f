import type { Span, SpanEvent, SpanKind } from '@gateway/contracts/trace/request-trace';
import type { TraceContext } from '@gateway/contracts/trace/trace-context';
import { ProtobufWriter } from './protobuf-writer.ts';

const KINDS = { internal: 1, server: 2, client: 3, producer: 4, consumer: 5 } as const satisfies Record<
  SpanKind,
  number
>;
const ERROR = 2;
const SAMPLED = 1;
const SCOPE = 'gateway';

/**
 * Spans as OTLP has them on the wire. Each is written when it ends: bytes are not looked at by the garbage collector while they wait.
 *
 * @see https://github.com/open-telemetry/opentelemetry-proto/blob/v1.9.0/opentelemetry/proto/trace/v1/trace.proto
 */
export class SpanBatch {
  readonly #resource: Uint8Array;
  readonly #spans = new ProtobufWriter();
  count = 0;

  /** @param resource as `resourceMessage` writes it */
  constructor(resource: Uint8Array) {
    this.#resource = resource;
    this.#begin();
  }

  get sizeBytes(): number {
    return this.#spans.length;
  }

  add(span: Span): void {
    const { context, parent, links, name, kind, startMs, endMs, shared, attributes, events, isFailed } = span;
    const spans = this.#spans;
    const start = spans.begin(2);
    spans.hex(1, context.traceId);
    spans.hex(2, context.spanId);
    if (parent !== null) spans.hex(4, parent.spanId);
    spans.text(5, name);
    spans.number(6, KINDS[kind]);
    spans.time(7, startMs);
    spans.time(8, Math.max(startMs, endMs));
    if (shared !== null) spans.attributes(9, shared);
    spans.attributes(9, attributes);
    for (const event of events) this.#event(event);
    for (const link of links) this.#link(link);
    if (isFailed) {
      const status = spans.begin(15);
      spans.number(3, ERROR);
      spans.end(status);
    }
    spans.fixed32(16, flagsOf(context));
    spans.end(start);
    this.count += 1;
  }

  #event({ name, atMs, attributes }: SpanEvent): void {
    const start = this.#spans.begin(11);
    this.#spans.time(1, atMs);
    this.#spans.text(2, name);
    this.#spans.attributes(3, attributes);
    this.#spans.end(start);
  }

  #link(context: TraceContext): void {
    const start = this.#spans.begin(13);
    this.#spans.hex(1, context.traceId);
    this.#spans.hex(2, context.spanId);
    this.#spans.fixed32(6, flagsOf(context));
    this.#spans.end(start);
  }

  /** Takes the whole request for a collector out of it. It is empty then. */
  take(): Uint8Array {
    const all = new ProtobufWriter();
    const start = all.begin(1);
    all.message(1, this.#resource);
    all.message(2, this.#spans.bytes);
    all.end(start);
    this.#spans.clear();
    this.count = 0;
    this.#begin();
    return all.bytes;
  }

  #begin(): void {
    const scope = this.#spans.begin(1);
    this.#spans.text(1, SCOPE);
    this.#spans.end(scope);
  }
}

/** What exports the spans, for all of them. */
export function resourceMessage(attributes: Span['attributes']): Uint8Array {
  const resource = new ProtobufWriter();
  resource.attributes(1, attributes);
  return resource.bytes;
}

/** The bits for whether its parent is in another process stay unset: that is not known here. */
const flagsOf = ({ isSampled }: TraceContext): number => (isSampled ? SAMPLED : 0);
