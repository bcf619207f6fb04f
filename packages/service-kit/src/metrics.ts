import type { RequestTrace } from '@gateway/contracts/trace/request-trace';
import { AggregatorRegistry, Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';
import { OPEN_METRICS, writeOpenMetrics } from './open-metrics.ts';

/**
 * The Prometheus metrics of a process, or of one part of it: where all others are registered by those who observe them, and what every
 * service counts. Labels come from closed lists; key and request ids never are labels.
 */
export interface Metrics {
  readonly registry: Registry;
  /** @param trace of the request: an example for those that took as long, if it was sampled */
  request(labels: RequestLabels, durationMs: number, trace?: Pick<RequestTrace, 'shownId'>): void;
  /** A request with a valid key that was refused for what the key may do or use. */
  refused(reason: RefusalReason): void;
  /** A request let in on a budget that is nearly spent. */
  budgetNear(): void;
  /** Something stored that could not be read and was left out. */
  brokenRecord(kind: string): void;
  /** Redis is another one than before, or has lost its history. */
  redisReplaced(): void;
  /** Usage that Redis had confirmed and then lost, which was accounted again. */
  usageRestored(count: number): void;
}

/** Where metrics are registered. */
export type MetricsRegistry = Pick<Metrics, 'registry'>;

export type RefusalReason =
  | 'endpoint'
  | 'overloaded'
  | 'requests_per_minute'
  | 'concurrent_requests'
  | 'tokens_per_minute'
  | 'images_per_minute'
  | 'audio_seconds_per_minute'
  | 'budget'
  | 'unpriced_model'
  | 'guardrail';

export interface RequestLabels {
  readonly endpoint: string;
  readonly status: number;
  /** `ok`, `refused` (4xx), `failed` (5xx or a broken stream) or `left` (the caller went away). */
  readonly outcome: RequestOutcome;
}
export type RequestOutcome = 'ok' | 'refused' | 'failed' | 'left';

/** Seconds; model calls last from milliseconds to minutes. */
export const DURATION_BUCKETS = [0.005, 0.02, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/** What a page of metrics shows. */
export interface MetricsPage {
  readonly contentType: string;
  text(): Promise<string>;
  /** The same as OpenMetrics, with examples of traces. */
  readonly openMetrics: { readonly contentType: string; text(): Promise<string> };
}

interface MetricsOptions {
  /** Whether durations keep examples of sampled traces, for OpenMetrics. */
  readonly exemplars?: boolean;
}

/** The metrics of a process that is one service, the process's own among them. */
export const createMetrics = (service: string, options: MetricsOptions = {}): Metrics =>
  metricsIn(processRegistryOf(service), options);

/** The metrics of one part of a process: its requests and their results. */
export const createPartMetrics = (service: string, options: MetricsOptions = {}): Metrics =>
  metricsIn(registryOf(service), options);

export const pageOf = (part: MetricsRegistry): MetricsPage => ({
  contentType: part.registry.contentType,
  text: async () => withNumbers(await part.registry.metrics()),
  openMetrics: openMetricsOf([part]),
});

const openMetricsOf = (parts: readonly MetricsRegistry[]): MetricsPage['openMetrics'] => ({
  contentType: OPEN_METRICS,
  text: async () =>
    writeOpenMetrics(await Promise.all(parts.map(({ registry }) => registry.getMetricsAsJSON()))),
});

/** The library writes `Nan`, which the format does not have. @see https://prometheus.io/docs/instrumenting/exposition_formats/ */
const withNumbers = (page: string): string => page.replaceAll(/ Nan$/gm, ' NaN');

/** One page for a process of several parts: what the process uses, collected once, and what each part counts. */
export function createSharedPage(process: string, parts: readonly MetricsRegistry[]): MetricsPage {
  const own = processRegistryOf(process);
  return {
    contentType: own.contentType,
    // A metric occurs once on a page, with the samples of all parts: the label `service` distinguishes them.
    text: async () => {
      const samples = await Promise.all(parts.map(({ registry }) => registry.getMetricsAsJSON()));
      return withNumbers(`${await own.metrics()}\n${await AggregatorRegistry.aggregate(samples).metrics()}`);
    },
    openMetrics: {
      contentType: OPEN_METRICS,
      // Parts are added while the process starts.
      text: () => openMetricsOf([{ registry: own }, ...parts]).text(),
    },
  };
}

/**
 * They read Node's own lists of handles and requests, which ends the process where one of them has just been collected
 * (`AsyncWrap::GetOwner`, "Assertion failed: !obj.IsEmpty()"). `nodejs_active_resources` counts the same without that.
 */
const UNSAFE_METRICS = [
  'nodejs_active_handles',
  'nodejs_active_handles_total',
  'nodejs_active_requests',
  'nodejs_active_requests_total',
];

/**
 * How often the event loop's lag is sampled; an idle loop is as late as that by the histogram's own reckoning. Each sample wakes
 * the process up: measured, prom-client's own 10 ms take 4.6 ms of an idle process's every second, and 100 ms take 1.
 */
const LAG_RESOLUTION_MS = 100;

/** Where a process counts what is of none of its parts. */
export const createPartRegistry = (service: string): MetricsRegistry => ({ registry: registryOf(service) });

/** What prom-client measures of a process, but for what may end it. */
function processRegistryOf(service: string): Registry {
  const registry = registryOf(service);
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_RESOLUTION_MS });
  for (const name of UNSAFE_METRICS) registry.removeSingleMetric(name);
  return registry;
}

function registryOf(service: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  return registry;
}

function metricsIn(registry: Registry, { exemplars = false }: MetricsOptions): Metrics {
  const requests = new Counter({
    name: 'gateway_requests_total',
    help: 'Requests, by endpoint, status and outcome',
    labelNames: ['endpoint', 'status', 'outcome'],
    registers: [registry],
  });
  const duration = new Histogram<'endpoint' | 'outcome' | 'trace_id'>({
    name: 'gateway_request_duration_seconds',
    help: 'Time from the first byte received to the last byte sent',
    labelNames: ['endpoint', 'outcome'],
    buckets: DURATION_BUCKETS,
    enableExemplars: exemplars,
    // The library takes examples in a registry of OpenMetrics alone; `writeOpenMetrics` shows them in any.
    registers: [],
  });
  registry.registerMetric(duration);
  const refused = new Counter({
    name: 'gateway_refused_total',
    help: 'Requests with a valid key that were refused before any provider was called, by reason',
    labelNames: ['reason'],
    registers: [registry],
  });
  const budgetNear = new Counter({
    name: 'gateway_budget_near_total',
    help: 'Requests accepted on a budget that is nearly spent',
    registers: [registry],
  });
  const brokenRecords = new Counter({
    name: 'gateway_broken_records_total',
    help: 'Stored records that could not be read and were skipped, each counted once per process, by kind',
    labelNames: ['kind'],
    registers: [registry],
  });
  const redisReplaced = new Counter({
    name: 'gateway_redis_replaced_total',
    help: 'Failovers and restarts of Redis, as this process has seen them',
    registers: [registry],
  });
  const usageRestored = new Counter({
    name: 'gateway_usage_restored_total',
    help: 'Settled requests that Redis had confirmed and lost in a failover, and that were settled again',
    registers: [registry],
  });
  return {
    registry,
    refused: (reason) => refused.inc({ reason }),
    budgetNear: () => budgetNear.inc(),
    brokenRecord: (kind) => brokenRecords.inc({ kind }),
    redisReplaced: () => redisReplaced.inc(),
    usageRestored: (count) => usageRestored.inc(count),
    request: ({ endpoint, status, outcome }, durationMs, trace) => {
      requests.inc({ endpoint, status, outcome });
      const [labels, value] = [{ endpoint, outcome }, durationMs / 1000];
      if (!exemplars) return duration.observe(labels, value);
      const id = trace?.shownId;
      duration.observe({ labels, value, ...(id !== undefined && { exemplarLabels: { trace_id: id } }) });
    },
  };
}
