import { batchLoad } from './batches.ts';
import { compare, type Load, type Measured } from './compared.ts';
import type { Contender } from './contender.ts';
import { REQUESTS, type Request } from './requests.ts';
import type { Bench, Figure, Row } from './row.ts';
import { realtimeLoad, socketLoad } from './sockets.ts';
import { eventsOf } from './streams.ts';

interface LoadRow {
  readonly id: string;
  readonly what: string;
  readonly request: Request;
  readonly contenders: (bench: Bench) => readonly Contender[];
  /** Divides by the events of one reply. */
  readonly perEvent?: boolean;
}

/** Processor time per request, or per event, at full load. */
export function loadRow({ id, what, request, contenders, perEvent = false }: LoadRow): Row {
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

/** The name of a contender where the provider gets a key. */
export const BY_KEY = ', by a key';

/** The name of a contender where a chat model is asked with the same words. */
export const AS_CHAT = ', as chat';

interface BesideRow {
  readonly id: string;
  readonly what: string;
  readonly request: Request;
  /** The same without what is measured, and what its contenders have behind their names. */
  readonly plain: Request;
  readonly name: typeof NOT_STORED | typeof BY_KEY | typeof AS_CHAT;
}

/** Processor time of a request, and of one that goes without something, in turn. */
export function besideRow({ id, what, request, plain, name: ending }: BesideRow): Row {
  return {
    id,
    what,
    unit: 'µs',
    measure: async ({ generator, gateways, rounds }) => {
      const all = gateways.flatMap((gateway) => [gateway, { ...gateway, name: gateway.name + ending }]);
      const loadOf = ({ name }: Contender) => ({
        generator,
        request: name.endsWith(ending) ? plain : request,
      });
      const measured = await compare(all, loadOf, rounds);
      return new Map([...measured].map(([name, found]) => [name, processorFigure(found, 1)]));
    },
  };
}

/** Processor time of a line of a batch, and of the same chat that a caller waits for, in turn. */
export const batchRow: Row = {
  id: 'batch-line',
  what: 'a line of a batch, or a small chat',
  unit: 'µs',
  measure: async ({ generator, gateways, rounds }) => {
    const all = gateways.flatMap((gateway) => [gateway, { ...gateway, name: gateway.name + AS_CHAT }]);
    const asLines: Load = { generator: batchLoad, request: REQUESTS.batchLine };
    const asChat: Load = { generator, request: REQUESTS.smallChat };
    const measured = await compare(all, ({ name }) => (name.endsWith(AS_CHAT) ? asChat : asLines), rounds);
    return new Map([...measured].map(([name, found]) => [name, processorFigure(found, 1)]));
  },
};

/** The name of a contender where the same response comes over HTTP. */
export const OVER_HTTP = ', over HTTP';

/**
 * Processor time of a response over an open WebSocket, and of the same one over HTTP, in turn: the same events, there as
 * an event stream over connections that stay open, by as many clients.
 */
export const socketRow: Row = {
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

/** Processor time of one message of a realtime session, in either direction; ten in eleven of those that are sent have sound. */
export const realtimeRow: Row = {
  id: 'realtime',
  what: 'one message of a realtime session, processor time',
  unit: 'µs',
  measure: async ({ gateways, rounds }) => {
    const load: Load = { generator: realtimeLoad, request: REQUESTS.realtime };
    const measured = await compare(gateways, () => load, rounds);
    return new Map([...measured].map(([name, found]) => [name, processorFigure(found, 1)]));
  },
};

export const processorFigure = (measured: Measured, events: number): Figure => ({
  value: measured.totalProcessorUs / events,
  parts: new Map([...measured.processorUs].map(([name, us]) => [name, us / events])),
  note: `${measured.requestsPerSecond.toFixed(0)} requests/s, p99 ${measured.p99Ms.toFixed(1)} ms, ${measured.errors} errors`,
});
