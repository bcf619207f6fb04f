import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { waitFor } from './wait-for.ts';

interface FloodOptions {
  readonly contentType: string;
  readonly head?: string;
  /** Written again and again, as fast as the reader takes it. */
  readonly piece: string | Buffer;
  readonly count: number;
  readonly tail?: string;
}

export interface Flood extends AsyncDisposable {
  readonly url: string;
  /** Whether the reader takes no more. */
  readonly isHeldUp: boolean;
  readonly writtenBytes: number;
}

/** A provider that answers every request with more than a process should hold in memory, and counts the bytes taken. */
export async function startFlood(options: FloodOptions): Promise<Flood> {
  const { contentType, head = '', piece, count, tail = '' } = options;
  const state = { isHeldUp: false, writtenBytes: 0 };
  const answer = async (message: IncomingMessage, response: ServerResponse) => {
    message.resume();
    await once(message, 'end');
    response.writeHead(200, { 'content-type': contentType });
    response.write(head);
    for (let index = 0; index < count && !response.destroyed; index += 1) {
      state.writtenBytes += piece.length;
      if (response.write(piece)) continue;
      state.isHeldUp = true;
      const waiting = new AbortController();
      const { signal } = waiting;
      await Promise.race([once(response, 'drain', { signal }), once(response, 'close', { signal })]);
      waiting.abort();
      state.isHeldUp = false;
    }
    response.end(tail);
  };
  const server = createServer((message, response) => {
    answer(message, response).catch((error: unknown) => response.destroy(Error('flood', { cause: error })));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    get isHeldUp() {
      return state.isHeldUp;
    },
    get writtenBytes() {
      return state.writtenBytes;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

interface StandingRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
}

/** A caller whose request is sent and who reads nothing until `readAll`. */
export interface StandingReader {
  readonly status: number;
  /** Reads everything: its size, and its last characters. */
  readAll(): Promise<{ readonly bytes: number; readonly end: string }>;
  leave(): void;
}

export async function openStandingReader({ url, headers, body }: StandingRequest): Promise<StandingReader> {
  const outgoing = request(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
  });
  outgoing.end(JSON.stringify(body));
  const [reply]: IncomingMessage[] = await once(outgoing, 'response');
  if (reply === undefined) throw new Error('no response');
  reply.once('error', () => undefined);
  return {
    status: reply.statusCode ?? 0,
    readAll: async () => {
      let bytes = 0;
      let end = '';
      for await (const chunk of reply) {
        bytes += chunk.length;
        end = `${end}${chunk.toString('latin1')}`.slice(-400);
      }
      return { bytes, end };
    },
    leave: () => reply.destroy(),
  };
}

/** A standstill is this many turns of the event loop without a byte: one turn takes a socket's whole buffer. */
const CALM_TURNS = 1000;

/** Waits until a flood is blocked for good, or more than this has been taken; returns the bytes taken. */
export async function takenAtStandstill(flood: Flood, enoughBytes: number): Promise<number> {
  await waitFor(() => flood.isHeldUp || flood.writtenBytes > enoughBytes, {
    what: 'a flood that is blocked',
  });
  let known = -1;
  for (let calm = 0; calm < CALM_TURNS && flood.writtenBytes <= enoughBytes; calm += 1) {
    await setImmediate();
    if (flood.writtenBytes !== known) calm = 0;
    known = flood.writtenBytes;
  }
  return flood.writtenBytes;
}
