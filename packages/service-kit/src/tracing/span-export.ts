import type { Span } from '@gateway/contracts/trace/request-trace';
import type { TraceContext } from '@gateway/contracts/trace/trace-context';
import { type Attributes, type HrTime, SpanKind, SpanStatusCode, TraceFlags } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter } from '@opentelemetry/sdk-trace';

/** Why spans were not exported: the queue was full, or the collector did not take them. */
export type DropReason = 'queue_full' | 'export_failed';

export interface SpanExportOptions {
  readonly exporter: SpanExporter;
  readonly resource: Resource;
  readonly maxQueueSize: number;
  readonly maxExportBatchSize: number;
  readonly scheduledDelayMillis: number;
  readonly exportTimeoutMillis: number;
  readonly onDropped: (count: number, reason: DropReason) => void;
  /** The collector did not take a batch. */
  readonly onFailure: (error: unknown) => void;
}

export interface SpanExport {
  /** Never waits and never fails: a full queue drops it. */
  write(span: Span): void;
  /** Exports what is queued. */
  close(): Promise<void>;
}

const SCOPE = { name: 'gateway' };
const KINDS = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} as const;
const EXPORTED = 0;

/** Queues spans that have ended, and exports them in batches. */
export function createSpanExport(options: SpanExportOptions): SpanExport {
  const { exporter, resource, onDropped, onFailure, maxQueueSize } = options;
  let queued = 0;
  // The processor keeps for itself what it drops; what it hands over is no longer in its queue.
  const counted: SpanExporter = {
    export: (spans, done) => {
      queued -= spans.length;
      exporter.export(spans, (result) => {
        if (result.code !== EXPORTED) {
          onDropped(spans.length, 'export_failed');
          onFailure(result.error);
        }
        done(result);
      });
    },
    forceFlush: async () => exporter.forceFlush?.(),
    shutdown: () => exporter.shutdown(),
  };
  const processor = new BatchSpanProcessor({
    exporter: counted,
    maxQueueSize,
    maxExportBatchSize: Math.min(options.maxExportBatchSize, maxQueueSize),
    scheduledDelayMillis: options.scheduledDelayMillis,
    exportTimeoutMillis: options.exportTimeoutMillis,
  });
  return {
    write: (span) => {
      if (queued >= maxQueueSize) return onDropped(1, 'queue_full');
      queued += 1;
      processor.onEnd(readable(span, resource));
    },
    close: () => processor.shutdown(),
  };
}

function readable(
  { context, parent, links, name, kind, startMs, endMs, attributes, isFailed }: Span,
  resource: Resource,
): ReadableSpan {
  const own = sdkContext(context);
  return {
    name,
    kind: KINDS[kind],
    spanContext: () => own,
    ...(parent !== null && { parentSpanContext: sdkContext(parent) }),
    startTime: hrTime(startMs),
    endTime: hrTime(Math.max(startMs, endMs)),
    duration: hrTime(Math.max(0, endMs - startMs)),
    status: { code: isFailed ? SpanStatusCode.ERROR : SpanStatusCode.UNSET },
    attributes: present(attributes),
    links: links.map((link) => ({ context: sdkContext(link) })),
    events: [],
    ended: true,
    resource,
    instrumentationScope: SCOPE,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

const sdkContext = ({ traceId, spanId, isSampled }: TraceContext) => ({
  traceId,
  spanId,
  traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
});

/** Seconds and nanoseconds. */
function hrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.min(999_999_999, Math.round((ms - seconds * 1000) * 1e6))];
}

function present(attributes: Span['attributes']): Attributes {
  const all: Attributes = {};
  for (const name in attributes) {
    const value = attributes[name];
    if (value === undefined || value === null) continue;
    all[name] = typeof value === 'object' ? [...value] : value;
  }
  return all;
}
