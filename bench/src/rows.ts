import { longChain } from './chain.ts';
import { compare, type Load, type Measured, type Rounds, warm } from './compared.ts';
import type { Contender } from './contender.ts';
import { type JobFigures, measureJobs } from './jobs/measure-jobs.ts';
import { pacedLatency } from './latency.ts';
import type { LoadGenerator } from './load.ts';
import { residentBytes } from './processor-time.ts';
import { REQUESTS, type Request } from './requests.ts';
import { openSocketsBytes, socketLoad } from './sockets.ts';
import { eventsOf, manyStreams } from './streams.ts';
import { largeUpload } from './upload.ts';

export interface Bench {
  readonly generator: LoadGenerator;
  readonly rounds: Rounds;
  readonly streams: number;
  readonly portkey: Contender;
  readonly floor: Contender;
  /** The gateway in both ways of running. */
  readonly gateways: readonly Contender[];
  /** The same, by keys with limits and a budget. */
  readonly limited: readonly Contender[];
}

/** One figure of one contender. */
export interface Figure {
  readonly value: number;
  /** By process, where the figure is a sum over them. */
  readonly parts?: ReadonlyMap<string, number>;
  /** What a reader should know beside the figure. */
  readonly note?: string;
}
export type Figures = ReadonlyMap<string, Figure>;

export interface Row {
  /** For `--only`. */
  readonly id: string;
  readonly what: string;
  readonly unit: 'µs' | 'ms' | 'KB' | 'MB' | '/s' | '×';
  measure(bench: Bench): Promise<Figures>;
}

const everybody = ({ portkey, floor, gateways, limited }: Bench) => [portkey, floor, ...gateways, ...limited];
const withoutLimits = ({ portkey, floor, gateways }: Bench) => [portkey, floor, ...gateways];
const gatewaysOnly = ({ gateways }: Bench) => gateways;
const MEGABYTE = 1024 * 1024;

interface LoadRow {
  readonly id: string;
  readonly what: string;
  readonly request: Request;
  readonly contenders: (bench: Bench) => readonly Contender[];
  /** Divides by the events of one reply. */
  readonly perEvent?: boolean;
}

/** Processor time per request, or per event, at full load. */
function loadRow({ id, what, request, contenders, perEvent = false }: LoadRow): Row {
  return {
    id,
    what,
    unit: 'µs',
    measure: async (bench) => {
      const { generator, rounds } = bench;
      const all = contenders(bench);
      const measured = await compare(all, () => ({ generator, request }), rounds);
      const figures = new Map<string, Figure>();
      for (const contender of all) {
        const found = measured.get(contender.name);
        if (found === undefined) continue;
        const events = perEvent ? await eventsOf(contender, request) : 1;
        figures.set(contender.name, processorFigure(found, events));
      }
      return figures;
    },
  };
}

/** The name of a contender where the same request is not stored. */
export const NOT_STORED = ', not stored';

/** Processor time of a request whose response is stored, and of one that is not, in turn. */
function storingRow(id: string, what: string, plain: Request, stored: Request): Row {
  return {
    id,
    what,
    unit: 'µs',
    measure: async ({ generator, gateways, rounds }) => {
      const all = gateways.flatMap((gateway) => [gateway, { ...gateway, name: gateway.name + NOT_STORED }]);
      const loadOf = ({ name }: Contender) => ({
        generator,
        request: name.endsWith(NOT_STORED) ? plain : stored,
      });
      const measured = await compare(all, loadOf, rounds);
      return new Map([...measured].map(([name, found]) => [name, processorFigure(found, 1)]));
    },
  };
}

/** The name of a contender where the same response comes over HTTP. */
export const OVER_HTTP = ', over HTTP';
const OPEN_SOCKETS = 1000;

/**
 * Processor time of a response over an open WebSocket, and of the same one over HTTP, in turn: the same events, there as
 * an event stream over connections that stay open, by as many clients.
 */
const socketRow: Row = {
  id: 'socket',
  what: 'small response as events over an open WebSocket, or streamed over HTTP',
  unit: 'µs',
  measure: async ({ generator, gateways, rounds }) => {
    const all = gateways.flatMap((gateway) => [gateway, { ...gateway, name: gateway.name + OVER_HTTP }]);
    const overHttp: Load = { generator, request: REQUESTS.smallStream };
    const overSocket: Load = { generator: socketLoad, request: REQUESTS.smallSocket };
    const measured = await compare(
      all,
      ({ name }) => (name.endsWith(OVER_HTTP) ? overHttp : overSocket),
      rounds,
    );
    return new Map([...measured].map(([name, found]) => [name, processorFigure(found, 1)]));
  },
};

const processorFigure = (measured: Measured, events: number): Figure => ({
  value: measured.totalProcessorUs / events,
  parts: new Map([...measured.processorUs].map(([name, us]) => [name, us / events])),
  note: `${measured.requestsPerSecond.toFixed(0)} requests/s, p99 ${measured.p99Ms.toFixed(1)} ms, ${measured.errors} errors`,
});

async function eachOf(
  contenders: readonly Contender[],
  figureOf: (contender: Contender) => Promise<Figure>,
): Promise<Figures> {
  const figures = new Map<string, Figure>();
  for (const contender of contenders) figures.set(contender.name, await figureOf(contender));
  return figures;
}

async function memoryOf({ processes }: Contender): Promise<Figure> {
  const parts = new Map<string, number>();
  for (const { name, pid } of processes)
    parts.set(name, (parts.get(name) ?? 0) + (await residentBytes(pid)) / MEGABYTE);
  return { value: [...parts.values()].reduce((total, megabytes) => total + megabytes, 0), parts };
}

/** Measured once for all its rows. */
let jobFigures: Promise<JobFigures> | undefined;

/** The queue alone: it runs by itself, in a process for the service and one for the worker. */
const jobRow = (
  id: string,
  what: string,
  unit: Row['unit'],
  figureOf: (figures: JobFigures) => number,
): Row => ({
  id,
  what,
  unit,
  measure: async () => {
    jobFigures ??= measureJobs();
    return new Map([['gateway (each)', { value: figureOf(await jobFigures) }]]);
  },
});

const KILOBYTE = 1024;

/** In the order in which they are measured: memory and its growth first, before there was any load, and memory once more at the end. */
export const ROWS: readonly Row[] = [
  {
    id: 'start',
    what: 'from the start to the first answer',
    unit: 'ms',
    measure: (bench) => eachOf(withoutLimits(bench), async ({ startMs }) => ({ value: startMs })),
  },
  {
    id: 'memory-idle',
    what: 'memory, idle',
    unit: 'MB',
    measure: (bench) => eachOf(withoutLimits(bench), memoryOf),
  },
  {
    id: 'upload',
    what: "the edge's growth under a 25 MB upload",
    unit: 'MB',
    measure: (bench) =>
      eachOf(bench.gateways, async (gateway) => {
        const { status, grownBytes } = await largeUpload(gateway);
        const parts = new Map([...grownBytes].map(([name, bytes]) => [name, bytes / MEGABYTE]));
        const edge = parts.get('edge') ?? parts.get('gateway') ?? Number.NaN;
        return { value: edge, parts, note: `status ${status}` };
      }),
  },
  {
    id: 'socket-memory',
    what: `${OPEN_SOCKETS} open WebSockets`,
    unit: 'MB',
    measure: (bench) =>
      eachOf(bench.gateways, async (gateway) => ({
        value: (await openSocketsBytes(gateway, OPEN_SOCKETS)) / MEGABYTE,
      })),
  },
  loadRow({
    id: 'small',
    what: 'small JSON, processor time',
    request: REQUESTS.small,
    contenders: everybody,
  }),
  loadRow({
    id: 'translated',
    what: 'small JSON, translated',
    request: REQUESTS.translated,
    contenders: gatewaysOnly,
  }),
  loadRow({ id: 'agent', what: '115 KB agent request', request: REQUESTS.agent, contenders: everybody }),
  loadRow({
    id: 'agent-translated',
    what: '115 KB agent request, translated',
    request: REQUESTS.agentTranslated,
    contenders: gatewaysOnly,
  }),
  loadRow({
    id: 'agent-repeated',
    what: '115 KB request whose reply repeats the tools',
    request: REQUESTS.agentRepeated,
    contenders: withoutLimits,
  }),
  loadRow({
    id: 'event',
    what: 'one event of a stream at full speed',
    request: REQUESTS.stream,
    contenders: everybody,
    perEvent: true,
  }),
  loadRow({
    id: 'event-translated',
    what: 'one translated event',
    request: REQUESTS.streamTranslated,
    contenders: gatewaysOnly,
    perEvent: true,
  }),
  {
    id: 'streams',
    what: 'many streams at 20 events/s, processor time of an event',
    unit: 'µs',
    measure: (bench) =>
      eachOf(withoutLimits(bench), async (contender) => {
        const result = await manyStreams(contender, { ...REQUESTS.paced, streams: bench.streams });
        const peak = (result.peakBytes / MEGABYTE).toFixed(0);
        return {
          value: result.processorUs,
          note: `${bench.streams} streams, ${result.broken} broken, ${peak} MB at most in a process`,
        };
      }),
  },
  {
    id: 'latency',
    what: 'latency at 100 requests/s, p50',
    unit: 'ms',
    measure: async (bench) => {
      const { generator, rounds } = bench;
      for (const contender of everybody(bench))
        await warm(contender, { generator, request: REQUESTS.small }, rounds);
      const paced = { ...REQUESTS.small, requests: 600, perSecond: 100 };
      const latencies = await pacedLatency(everybody(bench), paced);
      return new Map(
        [...latencies].map(([name, { p50Ms, p99Ms }]) => [
          name,
          { value: p50Ms, note: `p99 ${p99Ms.toFixed(2)} ms` },
        ]),
      );
    },
  },
  {
    id: 'throughput',
    what: 'requests per second, small JSON',
    unit: '/s',
    measure: async (bench) => {
      const measured = await compare(
        everybody(bench),
        () => ({ generator: bench.generator, request: REQUESTS.small }),
        bench.rounds,
      );
      return new Map(
        [...measured].map(([name, { requestsPerSecond }]) => [name, { value: requestsPerSecond }]),
      );
    },
  },
  socketRow,
  jobRow('jobs', 'jobs per second, nothing done in them', '/s', ({ perSecond }) => perSecond),
  jobRow('job-begin', 'from the call to the begin of a job, p50', 'ms', ({ beginP50Ms }) => beginP50Ms),
  jobRow('job-end', 'from the end of a job to its caller, p50', 'ms', ({ endP50Ms }) => endP50Ms),
  jobRow(
    'job-redis',
    'Redis, for a finished job',
    'KB',
    ({ redisBytesPerJob }) => redisBytesPerJob / KILOBYTE,
  ),
  jobRow(
    'job-memory',
    'service and worker, for a finished job',
    'KB',
    ({ heapBytesPerJob }) => heapBytesPerJob / KILOBYTE,
  ),
  {
    id: 'memory-loaded',
    what: 'memory, after everything above',
    unit: 'MB',
    measure: (bench) => eachOf(withoutLimits(bench), memoryOf),
  },
  storingRow('stored', 'small JSON, its response stored', REQUESTS.small, REQUESTS.stored),
  storingRow(
    'stored-translated',
    'small JSON, translated, its response stored',
    REQUESTS.translated,
    REQUESTS.storedTranslated,
  ),
  {
    id: 'chain',
    what: 'a turn at the end of a chain of 200, over one at its beginning',
    unit: '×',
    measure: (bench) =>
      eachOf(bench.gateways, async (gateway) => {
        const passed = await longChain(gateway, 'passed');
        const translated = await longChain(gateway, 'translated');
        return {
          value: passed.lastMs / passed.firstMs,
          note: `${passed.lastMs.toFixed(2)} ms; translated, with all of it sent each time: ${translated.firstMs.toFixed(2)} and ${translated.lastMs.toFixed(2)} ms`,
        };
      }),
  },
];
