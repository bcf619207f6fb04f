import { newSpanId, newTraceId, type TraceContext, traceparentOf } from './trace-context.ts';

export type SpanKind = 'internal' | 'server' | 'client' | 'producer' | 'consumer';
/** Content of a request or an answer only where the operator has asked for it, and no secrets. Those that are undefined are left out. */
export type SpanAttributes = Readonly<
  Record<string, string | number | boolean | readonly string[] | null | undefined>
>;

/** What has happened within a span. */
export interface SpanEvent {
  readonly name: string;
  /** Unix milliseconds. */
  readonly atMs: number;
  readonly attributes: SpanAttributes;
}

/** Where content may be: on the span of what a model was requested for, or in an event of it. */
export const CONTENT_PLACES = ['span', 'event'] as const;
export type ContentPlace = (typeof CONTENT_PLACES)[number];

/** What was asked and answered. */
export interface SpanContent {
  readonly places: readonly ContentPlace[];
  /** Null: there is none after all. */
  readonly attributes: Promise<SpanAttributes | null>;
}

/** A span that has ended. */
export interface Span {
  readonly context: TraceContext;
  readonly parent: TraceContext | null;
  readonly links: readonly TraceContext[];
  readonly name: string;
  readonly kind: SpanKind;
  /** Unix milliseconds, with fractions. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: SpanAttributes;
  /** What all spans of the trace say; none of it is in `attributes`. */
  readonly shared: SpanAttributes | null;
  readonly events: readonly SpanEvent[];
  /** Whether what it stands for has failed. */
  readonly isFailed: boolean;
}

/** Where spans go, and where traces begin. */
export interface Tracer {
  write(span: Span): void;
  /** A trace of its own, sampled by the process's ratio. */
  begin(links: readonly TraceContext[], kind: SpanKind): RequestTrace;
}

/** The channel that an attempt is sent to. */
export interface AttemptTarget {
  readonly channel: string;
  readonly account: string;
  readonly provider: string;
  /** Scheme, host and port. */
  readonly origin: string;
  /** The model's name there. */
  readonly model: string;
}

export interface AttemptResult {
  readonly outcome: string;
  /** Null: it did not answer. */
  readonly status: number | null;
  readonly isHedge: boolean;
}

/** One request to a provider. */
export interface TracedAttempt extends AttemptTarget {
  readonly context: TraceContext;
  readonly startMs: number;
  /** Of its first output, or of its failure. */
  endMs: number;
  result: AttemptResult | null;
}

interface TraceOptions {
  readonly tracer: Tracer;
  readonly context: TraceContext;
  readonly parent?: TraceContext | null;
  readonly links?: readonly TraceContext[];
  readonly kind: SpanKind;
}

/**
 * One request, or one job, in its trace. Its ids are known from the beginning, since others continue it; its spans are made when it
 * has ended, from what the log line has.
 */
export class RequestTrace {
  /** Of the span of the request itself. */
  readonly context: TraceContext;
  readonly parent: TraceContext | null;
  readonly links: readonly TraceContext[];
  readonly kind: SpanKind;
  readonly startMs = Date.now();
  readonly attempts: TracedAttempt[] = [];
  /** What all of its spans say, such as whom it was sent for. */
  shared: SpanAttributes | null = null;
  /** Its span waits for it. */
  content: SpanContent | null = null;
  /** What its span says beside what the log line has. */
  readonly noted: Record<string, SpanAttributes[string]> = {};
  readonly #tracer: Tracer;
  readonly #started = performance.now();
  #inference: TraceContext | null = null;

  constructor({ tracer, context, parent = null, links = [], kind }: TraceOptions) {
    this.#tracer = tracer;
    this.context = context;
    this.parent = parent;
    this.links = links;
    this.kind = kind;
  }

  get isSampled(): boolean {
    return this.context.isSampled;
  }

  /** Where readers of its record find it; undefined where it was not sampled. */
  get shownId(): string | undefined {
    return this.isSampled ? this.context.traceId : undefined;
  }

  get traceparent(): string {
    return traceparentOf(this.context);
  }

  /** Unix milliseconds. The clock of the machine may be set meanwhile: times are by its beginning. */
  get nowMs(): number {
    return this.startMs + performance.now() - this.#started;
  }

  /** Of the span of what a model was requested for, which is the parent of its attempts. */
  get inference(): TraceContext {
    this.#inference ??= this.#child();
    return this.#inference;
  }

  /** A request to a provider begins. Its span is written with the request's. */
  attempt(target: AttemptTarget): TracedAttempt {
    const context = { ...this.inference, spanId: newSpanId() };
    const { nowMs } = this;
    const attempt = { ...target, context, startMs: nowMs, endMs: nowMs, result: null };
    if (this.isSampled) this.attempts.push(attempt);
    return attempt;
  }

  /** An attempt has its first output, or has failed. A reply that turns out to be none ends it again. */
  endAttempt(attempt: TracedAttempt, result: AttemptResult): void {
    attempt.endMs = this.nowMs;
    attempt.result = result;
  }

  /** What this request hands to a queue. */
  child(kind: SpanKind): RequestTrace {
    return new RequestTrace({ tracer: this.#tracer, context: this.#child(), parent: this.context, kind });
  }

  /** A trace of its own that refers to this one: for the many requests of one connection or batch. */
  linked(kind: SpanKind): RequestTrace {
    return this.#tracer.begin([this.context], kind);
  }

  /** Writes the request's own span, or another one of it. */
  write(
    span: Pick<Span, 'name' | 'attributes' | 'isFailed'> &
      Partial<Pick<Span, 'context' | 'parent' | 'links' | 'kind' | 'startMs' | 'endMs' | 'events'>>,
  ): void {
    if (!this.isSampled) return;
    this.#tracer.write({
      context: span.context ?? this.context,
      parent: span.parent === undefined ? this.parent : span.parent,
      links: span.links ?? this.links,
      name: span.name,
      kind: span.kind ?? this.kind,
      startMs: span.startMs ?? this.startMs,
      endMs: span.endMs ?? this.nowMs,
      attributes: span.attributes,
      shared: this.shared,
      events: span.events ?? NO_EVENTS,
      isFailed: span.isFailed,
    });
  }

  #child(): TraceContext {
    return { ...this.context, spanId: newSpanId() };
  }
}

const NO_EVENTS: readonly SpanEvent[] = [];

/** The context of a request without a parent. */
export const newContext = (isSampled: boolean): TraceContext => ({
  traceId: newTraceId(),
  spanId: newSpanId(),
  isSampled,
});
