import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { SocketEvent } from '@gateway/testkit/connect-socket';
import { WebSocket } from 'ws';
import type { Exchange } from '../wire/exchange.ts';
import { type Reading, readError } from '../wire/replies.ts';
import type { Trip } from './trip.ts';

/** What came of one `response.create`. */
export interface SocketAnswer {
  readonly events: readonly SocketEvent[];
  /** `cut`: the connection ended first. */
  readonly end: Extract<Exchange['end'], 'complete' | 'cut' | 'left' | 'silent'>;
  /** Null where the connection is open, or ended without a close frame. */
  readonly closeCode: number | null;
  readonly closeReason: string;
}

/** An open connection of a trip, with the planned manner. */
export interface SocketTrip {
  /** Sends an event, and resolves with the events of its lane up to the end of the response. */
  ask(create: { readonly stream_id?: string; readonly [member: string]: unknown }): Promise<SocketAnswer>;
  /** Sends the events, and resolves with all that came since the last answer, up to one that ends this one. */
  converse(sent: readonly object[], isEnd: (event: SocketEvent) => boolean): Promise<SocketAnswer>;
  close(): void;
}

const ENDS = ['response.completed', 'response.incomplete', 'response.failed'];
/** Longer than every time limit. */
const SILENCE_MS = 100_000;
const WITHOUT_CLOSE_FRAME = [1005, 1006];

/** Connects; the failure where that is refused. */
export async function openSocket(
  trip: Trip,
  path: string,
  requestId = `${trip.planned.name}-0`,
): Promise<SocketTrip | Reading> {
  const { origin, secret, planned } = trip;
  const socket = new WebSocket(origin.replace(/^http/, 'ws') + path, {
    headers: { authorization: `Bearer ${secret}`, 'x-request-id': requestId },
  });
  const all: SocketEvent[] = [];
  let answered = 0;
  socket.on('message', (data) => all.push(JSON.parse(String(data))));
  const closed = Promise.withResolvers<{ readonly code: number | null; readonly reason: string }>();
  socket.once('close', (code, reason) =>
    closed.resolve({ code: WITHOUT_CLOSE_FRAME.includes(code) ? null : code, reason: reason.toString() }),
  );
  const refused = once(socket, 'unexpected-response').then(async ([, response]) => {
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk);
    return refusal(path, response.statusCode, response.headers, Buffer.concat(chunks));
  });
  const lost = once(socket, 'error').then(
    (): Reading => ({ text: null, failure: { where: 'connection', status: 0, code: 'lost' }, problems: [] }),
  );
  const failed = await Promise.race([once(socket, 'open').then(() => null), refused, lost]).catch(() => lost);
  if (failed !== null) return failed;
  socket.on('error', () => undefined);

  let hasLeft = false;
  const leaving =
    planned.manner !== 'leaves'
      ? undefined
      : setTimeout(() => {
          hasLeft = true;
          socket.terminate();
        }, planned.mannerMs);
  if (planned.manner === 'stands') {
    socket.once('message', async () => {
      socket.pause();
      await delay(planned.mannerMs);
      socket.resume();
    });
  }
  /** Resolves when the answer is there, or none can come any more. */
  const answerOf = async (
    events: readonly SocketEvent[],
    whole: Promise<'complete'>,
    take: (data: unknown) => void,
  ): Promise<SocketAnswer> => {
    const silence = Promise.withResolvers<'silent'>();
    const timer = setTimeout(() => silence.resolve('silent'), SILENCE_MS);
    const end = await Promise.race([whole, silence.promise, closed.promise.then(() => 'cut' as const)]);
    clearTimeout(timer);
    socket.off('message', take);
    const { code, reason } = end === 'cut' ? await closed.promise : { code: null, reason: '' };
    return { events, end: hasLeft && end === 'cut' ? 'left' : end, closeCode: code, closeReason: reason };
  };
  return {
    ask: ({ stream_id: lane, ...create }) => {
      const events: SocketEvent[] = [];
      const ended = Promise.withResolvers<'complete'>();
      const take = (data: unknown) => {
        const event: SocketEvent = JSON.parse(String(data));
        if (event.stream_id !== lane) return;
        events.push(event);
        if (ENDS.includes(event.type) || (event.type === 'error' && events.length === 1))
          ended.resolve('complete');
      };
      socket.on('message', take);
      socket.send(JSON.stringify({ ...create, stream_id: lane }));
      return answerOf(events, ended.promise, take);
    },
    converse: (sent, isEnd) => {
      const events: SocketEvent[] = [];
      const ended = Promise.withResolvers<'complete'>();
      let isOver = false;
      const take = () => {
        for (const event of isOver ? [] : all.slice(answered)) {
          answered += 1;
          events.push(event);
          isOver = isEnd(event);
          if (isOver) return ended.resolve('complete');
        }
      };
      socket.on('message', take);
      if (socket.readyState === socket.OPEN) for (const event of sent) socket.send(JSON.stringify(event));
      take();
      return answerOf(events, ended.promise, take);
    },
    close: () => {
      clearTimeout(leaving);
      socket.close();
    },
  };
}

/** An answer over HTTP instead of a WebSocket. Handshakes name no request id. */
function refusal(path: string, status: number, headers: Exchange['headers'], body: Buffer): Reading {
  const requestId = String(headers['x-request-id'] ?? '');
  const reply: Exchange = {
    path,
    method: 'GET',
    requestId,
    status,
    headers,
    body,
    end: 'complete',
    beganAt: 0,
    endedAt: 0,
  };
  return readError(reply);
}
