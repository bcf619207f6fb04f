import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { Counter } from 'prom-client';
import { parseConfig } from '../config.ts';
import type { Life } from '../life/life.ts';
import type { Logger } from '../logger.ts';
import type { MetricsRegistry } from '../metrics.ts';
import { type CollectorAddress, openCollector } from './collector.ts';
import { createSampler } from './sampler.ts';
import { TracingSettings } from './settings.ts';
import { resourceMessage } from './span-batch.ts';
import { createSpanExport, type DropReason } from './span-export.ts';
import { createTracing, type Tracing } from './tracing.ts';

interface OpenTracingOptions {
  /** The name of the process: its service is named after it, unless `OTEL_SERVICE_NAME` names it. */
  readonly service: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly life: Pick<Life, 'own' | 'stopping' | 'logger'>;
  readonly metrics: MetricsRegistry;
  readonly drainTimeoutMs: number;
  /** Absent: as the environment of this process says. */
  readonly collector?: CollectorAddress;
}

/** A collector that hangs does not hold up the end for longer, however much time is left. */
const MAX_FLUSH_MS = 5000;
const MIN_FLUSH_MS = 1000;
/** How often the log says that spans are not exported. */
const QUIET_MS = 60_000;
const MAX_REASON_LENGTH = 200;
/** The resource of a process that names no service. */
const NAMESPACE = 'gateway';

/**
 * Opens the export of traces. Loaded only where an endpoint is set; the process's life closes it last of all, and exports what is queued.
 *
 * @throws {ConfigError} naming every variable that is wrong, never its value
 */
export function openTracing(options: OpenTracingOptions): Tracing {
  const { service, env, life, metrics, drainTimeoutMs } = options;
  const settings = parseConfig(TracingSettings, env);
  const dropped = new Counter({
    name: 'gateway_spans_dropped_total',
    help: 'Spans that were not exported, because the queue was full or the collector did not take them, by reason',
    labelNames: ['reason'],
    registers: [metrics.registry],
  });
  for (const reason of ['queue_full', 'export_failed'] satisfies DropReason[]) dropped.inc({ reason }, 0);
  const warn = createWarning(life.logger);
  const spans = life.own(
    createSpanExport({
      collector: openCollector(options.collector, (count) => {
        dropped.inc({ reason: 'export_failed' }, count);
        warn(`the collector has not taken ${count} of those that it got`);
      }),
      resource: resourceOf(service),
      maxQueueSize: settings.OTEL_BSP_MAX_QUEUE_SIZE,
      maxExportBatchSize: settings.OTEL_BSP_MAX_EXPORT_BATCH_SIZE,
      scheduledDelayMillis: settings.OTEL_BSP_SCHEDULE_DELAY,
      exportTimeoutMillis: settings.OTEL_BSP_EXPORT_TIMEOUT,
      onDropped: (count, reason) => {
        dropped.inc({ reason }, count);
        if (reason === 'queue_full') warn('the queue of spans is full, so some are dropped');
      },
      onFailure: (error) => warn(`the collector does not take spans: ${reasonOf(error)}`),
    }),
    (opened) => flushed(opened.close(), flushMs()),
  );
  let stoppingAtMs: number | undefined;
  life.stopping.addEventListener('abort', () => {
    stoppingAtMs = performance.now();
  });
  /** What is left of the time to drain. */
  const flushMs = () => {
    const left = stoppingAtMs === undefined ? 0 : drainTimeoutMs - (performance.now() - stoppingAtMs);
    return Math.min(MAX_FLUSH_MS, Math.max(MIN_FLUSH_MS, left));
  };
  const sampler = createSampler({
    sampler: settings.OTEL_TRACES_SAMPLER,
    ratio: settings.OTEL_TRACES_SAMPLER_ARG,
    callers: settings.TRACES_OF_CALLERS,
  });
  return createTracing(sampler, spans.write, settings.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT);
}

/** What `OTEL_RESOURCE_ATTRIBUTES` and `OTEL_SERVICE_NAME` say comes before what the process says itself. */
function resourceOf(service: string): Uint8Array {
  const { attributes } = resourceFromAttributes({
    'service.name': service === NAMESPACE ? NAMESPACE : `${NAMESPACE}-${service}`,
    'service.namespace': NAMESPACE,
    'service.instance.id': crypto.randomUUID(),
    'telemetry.sdk.language': 'nodejs',
  }).merge(detectResources({ detectors: [envDetector] }));
  const texts = Object.entries(attributes).map(([name, value]) => [name, String(value)] as const);
  return resourceMessage(Object.fromEntries(texts));
}

/** Resolves when the spans are exported, were refused, or it took too long. */
async function flushed(closing: Promise<void>, ms: number): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race([closing.catch(() => undefined), late]);
  clearTimeout(timer);
}

/** One sentence, and again after a minute at the earliest. */
function createWarning(logger: Logger): (sentence: string) => void {
  let lastMs = Number.NEGATIVE_INFINITY;
  return (sentence) => {
    const nowMs = performance.now();
    if (nowMs - lastMs < QUIET_MS) return;
    lastMs = nowMs;
    logger.warn(`Traces: ${sentence}. Requests are not affected.`);
  };
}

/** Never the headers or the address with what is in it. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'no reason was given';
  const code = 'code' in error && error.code !== undefined ? ` (${String(error.code)})` : '';
  return `${error.message}${code}`.replaceAll(/https?:\/\/\S+/g, 'its address').slice(0, MAX_REASON_LENGTH);
}
