import type { Exchange } from '../wire/exchange.ts';
import { codeOf, type Reading } from '../wire/replies.ts';
import { readStream } from '../wire/streams.ts';
import type { RequestKind } from './request-kinds.ts';
import { openSocket, type SocketAnswer } from './socket-trip.ts';
import { compared, left, type Trip } from './trip.ts';

const PATH = '/v1/responses';
/** How a gateway says that its caller should connect again: RFC 6455 §7.4.1 and the error before it. */
const CONNECT_AGAIN = { codes: [1001, 1012], error: 'shutting_down' } as const;
const CONNECTIONS_AT_MOST = 4;

/** Reads the events of one response as those of a stream over HTTP, which they equal. */
function read({ events, end }: SocketAnswer): Reading {
  if (end === 'left') return left;
  const [first] = events;
  if (first?.type === 'error')
    return {
      text: null,
      failure: { where: 'reply', status: Number(first.status ?? 0), code: codeOf(first) },
      problems: [],
    };
  const body = events
    .map(
      ({ stream_id: _lane, headers: _headers, ...event }) =>
        `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`,
    )
    .join('');
  const stream: Exchange = {
    path: PATH,
    method: 'GET',
    requestId: '',
    status: 200,
    headers: { 'content-type': 'text/event-stream' },
    body: Buffer.from(body),
    end,
    beganAt: 0,
    endedAt: 0,
  };
  return events.length === 0 && end === 'cut'
    ? { text: null, failure: { where: 'connection', status: 0, code: end }, problems: [] }
    : readStream(stream, 'responses');
}

const idOf = ({ events }: SocketAnswer): string =>
  /"id":"(resp_[^"]+)"/.exec(JSON.stringify(events.at(-1) ?? {}))?.[1] ?? '';

/** Whether nothing of it began, and the caller is asked to come back. */
function mayComeBack({ events, closeCode }: SocketAnswer): boolean {
  const [first] = events;
  if (first === undefined)
    return closeCode !== null && CONNECT_AGAIN.codes.some((code) => code === closeCode);
  return first.type === 'error' && codeOf(first) === CONNECT_AGAIN.error;
}

type Turns = (
  ask: (turn: number, more?: object) => Promise<SocketAnswer>,
) => Promise<readonly SocketAnswer[]>;

/** Two lanes side by side, then a turn that continues the first from what the connection remembers: nothing is stored. */
const lanes: Turns = async (ask) => {
  const both = await Promise.all([ask(1, { stream_id: 'a' }), ask(2, { stream_id: 'b' })]);
  const [first] = both;
  if (first.events.at(-1)?.type !== 'response.completed') return both;
  return [...both, await ask(3, { stream_id: 'a', previous_response_id: idOf(first) })];
};

function overSocket(model: string): RequestKind {
  return {
    work: 'free',
    service: 'text',
    worker: null,
    run: async (trip: Trip) => {
      for (let connection = 1; ; connection += 1) {
        const opened = await openSocket(trip, PATH);
        if ('failure' in opened) return opened;
        const ask = (turn: number, more: object = {}) =>
          opened.ask({ type: 'response.create', model, input: trip.mark(turn), store: false, ...more });
        const answers = await lanes(ask).finally(() => opened.close());
        // What the connection remembered of the turns before is gone with it.
        if (answers.some(mayComeBack) && connection < CONNECTIONS_AT_MOST) continue;
        const readings = answers.map((answer, index) => compared(read(answer), trip.answer(index + 1)));
        return {
          text: null,
          failure: readings.find(({ failure }) => failure !== null)?.failure ?? null,
          problems: readings.flatMap(({ problems }) => problems),
        };
      }
    },
  };
}

export const SOCKET_KINDS = {
  'WebSocket of responses': overSocket('over-responses'),
  'WebSocket of any': overSocket('mixed'),
} as const satisfies Record<string, RequestKind>;
