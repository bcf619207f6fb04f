import { setTimeout as delay } from 'node:timers/promises';
import { longChain } from './chain.ts';
import { compare, warm } from './compared.ts';
import type { Contender } from './contender.ts';
import { JOB_ROWS } from './jobs/job-rows.ts';
import { pacedLatency } from './latency.ts';
import { residentBytes } from './processor-time.ts';
import {
  AS_CHAT,
  BY_KEY,
  batchRow,
  besideRow,
  loadRow,
  NOT_STORED,
  realtimeRow,
  socketRow,
} from './processor-time-rows.ts';
import { REQUESTS } from './requests.ts';
import { eachOf, everybody, type Figure, gatewaysOnly, type Row, withoutLimits } from './row.ts';
import { openSocketsBytes } from './sockets.ts';
import { manyStreams } from './streams.ts';
import { tracedRow } from './traced.ts';
import { largeUpload } from './upload.ts';

const MEGABYTE = 1024 * 1024;
const OPEN_SOCKETS = 1000;
/** After that time a contender has released what starting took; after this one what load took, if it does so at all. */
const STARTED_MS = 5000;
const RESTED_MS = 130_000;

async function memoryOf({ processes }: Contender): Promise<Figure> {
  const parts = new Map<string, number>();
  for (const { name, pid } of processes)
    parts.set(name, (parts.get(name) ?? 0) + (await residentBytes(pid)) / MEGABYTE);
  return { value: [...parts.values()].reduce((total, megabytes) => total + megabytes, 0), parts };
}

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
    measure: async (bench) => {
      await delay(STARTED_MS);
      return eachOf(withoutLimits(bench), memoryOf);
    },
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
  loadRow({
    id: 'gemini',
    what: 'small JSON of a Gemini caller, translated',
    request: REQUESTS.gemini,
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
  realtimeRow,
  ...JOB_ROWS,
  {
    id: 'memory-loaded',
    what: 'memory, two minutes after everything above',
    unit: 'MB',
    measure: async (bench) => {
      await delay(RESTED_MS);
      return eachOf(withoutLimits(bench), memoryOf);
    },
  },
  besideRow({
    id: 'embeddings',
    what: 'embeddings of one text, or a small chat',
    request: REQUESTS.embeddings,
    plain: REQUESTS.smallChat,
    name: AS_CHAT,
  }),
  batchRow,
  besideRow({
    id: 'stored',
    what: 'small JSON, its response stored',
    request: REQUESTS.stored,
    plain: REQUESTS.small,
    name: NOT_STORED,
  }),
  besideRow({
    id: 'stored-translated',
    what: 'small JSON, translated, its response stored',
    request: REQUESTS.storedTranslated,
    plain: REQUESTS.translated,
    name: NOT_STORED,
  }),
  besideRow({
    id: 'signed',
    what: 'small JSON, signed for AWS',
    request: REQUESTS.signed,
    plain: REQUESTS.keyed,
    name: BY_KEY,
  }),
  besideRow({
    id: 'token',
    what: 'small JSON, by a token that is renewed',
    request: REQUESTS.token,
    plain: REQUESTS.keyed,
    name: BY_KEY,
  }),
  tracedRow,
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
