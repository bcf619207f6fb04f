import { AggregatorRegistry, Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';
import {
  type AddressLabels,
  type RestLabels,
  type SlotCounts,
  showAddresses,
  showConnections,
  showLoad,
  showRests,
  showSlots,
} from './gauges.ts';

/** The Prometheus metrics of a process, or of one part of it. Labels come from closed lists; key and request ids never are labels. */
export interface Metrics {
  readonly registry: Registry;
  request(labels: RequestLabels, durationMs: number): void;
  /** A job of this kind that ended, and how long it had waited in its queue. */
  queued(kind: string, waitedMs: number): void;
  /** A request with a valid key that was refused for what the key may do or use. */
  refused(reason: RefusalReason): void;
  /** A request let in on a budget that is nearly spent. */
  budgetNear(): void;
  /** Something stored that could not be read and was left out. */
  brokenRecord(kind: string): void;
  /** A request that is done by a job: one that it made, or one that an earlier request made. */
  jobRequest(labels: JobRequestLabels): void;
  /** Counts lines of a batch that is done. */
  batchLines(
    labels: { readonly kind: string; readonly outcome: 'completed' | 'failed' },
    lines: number,
  ): void;
  /** One attempt to send a webhook. */
  webhookAttempt(outcome: 'delivered' | 'failed' | 'refused'): void;
  /** An attempt to sign in to the console. */
  signIn(labels: { readonly method: string; readonly outcome: SignInOutcome }): void;
  /** A request that was refused because there was too much to do. */
  shed(labels: { readonly reason: string; readonly priority: string }): void;
  /** Shows the open connections of callers, read whenever the page is. */
  connections(read: () => number): void;
  /** A connection that was closed at once: there were too many in total, or of its address. */
  connectionRefused(reason: 'total' | 'address'): void;
  /** Shows what is in flight, read whenever the page is. */
  load(read: () => { readonly requests: number; readonly bodyBytes: number }): void;
  /** One account of a channel that was called, and how that went until its first output. */
  attempt(labels: { readonly channel: string; readonly account: string; readonly outcome: string }): void;
  /** A request for which a second channel was called beside this late one, and which of them answered first. */
  hedge(labels: { readonly channel: string; readonly winner: 'first' | 'second' | 'none' }): void;
  /** A failure that counts for a channel's cooldown. */
  trouble(channel: string, cause: string): void;
  /** Sets the source from which the page reads what rests, each time it is read. */
  showRests(read: () => readonly RestLabels[]): void;
  /** Shows the addresses of services that an edge knows, read whenever the page is. */
  serviceAddresses(read: () => readonly AddressLabels[]): void;
  /** A choice between several candidates: what came first, and what decided it. */
  pick(labels: { readonly channel: string; readonly account: string; readonly by: string }): void;
  /** A request that had to wait for a slot of an account. */
  slotWait(
    labels: { readonly channel: string; readonly account: string; readonly outcome: string },
    durationMs: number,
  ): void;
  /** Sets the source from which the page reads how many requests are in flight and wait, each time it is read. */
  showSlots(read: () => Iterable<SlotCounts>): void;
}

export type RefusalReason =
  | 'endpoint'
  | 'overloaded'
  | 'requests_per_minute'
  | 'concurrent_requests'
  | 'tokens_per_minute'
  | 'images_per_minute'
  | 'audio_seconds_per_minute'
  | 'budget'
  | 'unpriced_model';

/** `limited`: after too many that were refused. */
export type SignInOutcome = 'ok' | 'refused' | 'limited' | 'failed';

export interface JobRequestLabels {
  readonly kind: string;
  /** Whether the job goes on without its caller. */
  readonly mode: 'waiting' | 'detached';
  readonly job: 'new' | 'joined';
}

export interface RequestLabels {
  readonly endpoint: string;
  readonly status: number;
  /** `ok`, `refused` (4xx), `failed` (5xx or a broken stream) or `left` (the caller went away). */
  readonly outcome: RequestOutcome;
}
export type RequestOutcome = 'ok' | 'refused' | 'failed' | 'left';

/** Seconds; a request waits for a minute at most. */
const SLOT_WAIT_BUCKETS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
/** Seconds; model calls last from milliseconds to minutes. */
const DURATION_BUCKETS = [0.005, 0.02, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/** What a page of metrics shows. */
export interface MetricsPage {
  readonly contentType: string;
  text(): Promise<string>;
}

/** The metrics of a process that is one service, the process's own among them. */
export function createMetrics(service: string): Metrics {
  return metricsIn(processRegistryOf(service));
}

/** The metrics of one part of a process: its requests and their results. */
export const createPartMetrics = (service: string): Metrics => metricsIn(registryOf(service));

export const pageOf = ({ registry }: Pick<Metrics, 'registry'>): MetricsPage => ({
  contentType: registry.contentType,
  text: async () => withNumbers(await registry.metrics()),
});

/** The library writes `Nan`, which the format does not have. @see https://prometheus.io/docs/instrumenting/exposition_formats/ */
const withNumbers = (page: string): string => page.replaceAll(/ Nan$/gm, ' NaN');

/** One page for a process of several parts: what the process uses, collected once, and what each part counts. */
export function createSharedPage(process: string, parts: readonly Pick<Metrics, 'registry'>[]): MetricsPage {
  const own = processRegistryOf(process);
  return {
    contentType: own.contentType,
    // A metric occurs once on a page, with the samples of all parts: the label `service` distinguishes them.
    text: async () => {
      const samples = await Promise.all(parts.map(({ registry }) => registry.getMetricsAsJSON()));
      return withNumbers(`${await own.metrics()}\n${await AggregatorRegistry.aggregate(samples).metrics()}`);
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

function metricsIn(registry: Registry): Metrics {
  const requests = new Counter({
    name: 'gateway_requests_total',
    help: 'Requests, by endpoint, status and outcome',
    labelNames: ['endpoint', 'status', 'outcome'],
    registers: [registry],
  });
  const duration = new Histogram({
    name: 'gateway_request_duration_seconds',
    help: 'Time from the first byte received to the last byte sent',
    labelNames: ['endpoint', 'outcome'],
    buckets: DURATION_BUCKETS,
    registers: [registry],
  });
  const queued = new Histogram({
    name: 'gateway_job_queue_seconds',
    help: 'Time from a job being queued to a worker taking it, by kind',
    labelNames: ['kind'],
    buckets: DURATION_BUCKETS,
    registers: [registry],
  });
  const refused = new Counter({
    name: 'gateway_refused_total',
    help: 'Requests with a valid key that were refused before any provider was called, by reason',
    labelNames: ['reason'],
    registers: [registry],
  });
  const budgetNear = new Counter({
    name: 'gateway_budget_near_total',
    help: 'Requests let in on a budget of which most is used',
    registers: [registry],
  });
  const brokenRecords = new Counter({
    name: 'gateway_broken_records_total',
    help: 'Stored records that could not be read and were left out, each counted once per process, by kind',
    labelNames: ['kind'],
    registers: [registry],
  });
  const jobRequests = new Counter({
    name: 'gateway_job_requests_total',
    help: 'Requests that are done by a job, by its kind, whether it goes on without its caller, and whether it was there before',
    labelNames: ['kind', 'mode', 'job'],
    registers: [registry],
  });
  const batchLines = new Counter({
    name: 'gateway_batch_lines_total',
    help: 'Lines of batches that were done, by the kind of the batch and by how they ended',
    labelNames: ['kind', 'outcome'],
    registers: [registry],
  });
  const webhookAttempts = new Counter({
    name: 'gateway_webhook_attempts_total',
    help: 'Attempts to send webhooks: delivered (2xx), failed (to be tried again), refused (not to be tried again)',
    labelNames: ['outcome'],
    registers: [registry],
  });
  const attempts = new Counter({
    name: 'gateway_upstream_attempts_total',
    help: 'Requests sent to channels, by how they went until their first output',
    labelNames: ['channel', 'account', 'outcome'],
    registers: [registry],
  });
  const troubles = new Counter({
    name: 'gateway_channel_failures_total',
    help: "Failures that count for a channel's cooldown, by cause",
    labelNames: ['channel', 'cause'],
    registers: [registry],
  });
  const picks = new Counter({
    name: 'gateway_upstream_picks_total',
    help: 'Choices between several candidates, by what came first and what decided it: affinity, weight or load',
    labelNames: ['channel', 'account', 'by'],
    registers: [registry],
  });
  const slotWaits = new Histogram({
    name: 'gateway_upstream_wait_seconds',
    help: 'Waits of requests for an account without a free slot, by how they ended: served, busy or left',
    labelNames: ['channel', 'account', 'outcome'],
    buckets: SLOT_WAIT_BUCKETS,
    registers: [registry],
  });
  const refusedConnections = new Counter({
    name: 'gateway_connections_refused_total',
    help: 'Connections that were closed at once because there were too many, in total or of one address',
    labelNames: ['reason'],
    registers: [registry],
  });
  const signIns = new Counter({
    name: 'gateway_console_sign_ins_total',
    help: 'Attempts to sign in to the console, by how they ended: ok, refused, limited (after too many), failed',
    labelNames: ['method', 'outcome'],
    registers: [registry],
  });
  const shed = new Counter({
    name: 'gateway_shed_total',
    help: 'Requests that were refused because there was too much to do, by the bound and the priority of their key',
    labelNames: ['reason', 'priority'],
    registers: [registry],
  });
  const hedges = new Counter({
    name: 'gateway_upstream_hedges_total',
    help: 'Requests for which a second channel was called beside a late one, by the late channel and by which of them answered first',
    labelNames: ['channel', 'winner'],
    registers: [registry],
  });
  return {
    registry,
    trouble: (channel, cause) => troubles.inc({ channel, cause }),
    showRests: (read) => showRests(registry, read),
    pick: ({ channel, account, by }) => picks.inc({ channel, account, by }),
    slotWait: ({ channel, account, outcome }, durationMs) =>
      slotWaits.observe({ channel, account, outcome }, durationMs / 1000),
    showSlots: (read) => showSlots(registry, read),
    queued: (kind, waitedMs) => queued.observe({ kind }, waitedMs / 1000),
    refused: (reason) => refused.inc({ reason }),
    budgetNear: () => budgetNear.inc(),
    brokenRecord: (kind) => brokenRecords.inc({ kind }),
    jobRequest: ({ kind, mode, job }) => jobRequests.inc({ kind, mode, job }),
    batchLines: ({ kind, outcome }, lines) => batchLines.inc({ kind, outcome }, lines),
    webhookAttempt: (outcome) => webhookAttempts.inc({ outcome }),
    signIn: ({ method, outcome }) => signIns.inc({ method, outcome }),
    shed: ({ reason, priority }) => shed.inc({ reason, priority }),
    connections: (read) => showConnections(registry, read),
    connectionRefused: (reason) => refusedConnections.inc({ reason }),
    load: (read) => showLoad(registry, read),
    hedge: ({ channel, winner }) => hedges.inc({ channel, winner }),
    attempt: ({ channel, account, outcome }) => attempts.inc({ channel, account, outcome }),
    serviceAddresses: (read) => showAddresses(registry, read),
    request: ({ endpoint, status, outcome }, durationMs) => {
      requests.inc({ endpoint, status, outcome });
      duration.observe({ endpoint, outcome }, durationMs / 1000);
    },
  };
}
