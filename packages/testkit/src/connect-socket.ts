import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type ClientOptions, WebSocket } from 'ws';
import { waitFor } from './wait-for.ts';

/** One JSON message. */
export interface SocketEvent {
  readonly type: string;
  readonly stream_id?: string;
  readonly [member: string]: unknown;
}

/** A client of WebSockets that carry JSON events. */
export interface TestSocket extends Disposable {
  readonly webSocket: WebSocket;
  readonly connection: Socket;
  /** Everything that has come. */
  readonly events: readonly SocketEvent[];
  /** An object goes as JSON, text and bytes as they are. */
  send(event: object | string): void;
  /** The events of a lane, from the one after those that earlier calls gave to the one that ends a response. */
  answer(lane?: string): Promise<SocketEvent[]>;
  /** How the connection was closed. */
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
}

const ENDING = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
  'error',
  'response.steer.failed',
]);

/** Resolves when the WebSocket is open. @throws {RefusedHandshake} where the answer is another one */
export async function connectSocket(
  url: string,
  headers: Readonly<Record<string, string>>,
  options: ClientOptions = {},
): Promise<TestSocket> {
  const webSocket = new WebSocket(url.replace(/^http/, 'ws'), { headers, ...options });
  const events: SocketEvent[] = [];
  const given = new Map<string | undefined, number>();
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    webSocket.once('close', (code, reason) => resolve({ code, reason: reason.toString() }));
  });
  webSocket.on('message', (data) => events.push(JSON.parse(String(data))));
  const { socket: connection } = await opened(webSocket);
  webSocket.on('error', () => undefined);
  return {
    webSocket,
    connection,
    events,
    closed,
    send: (event) =>
      webSocket.send(typeof event === 'string' || Buffer.isBuffer(event) ? event : JSON.stringify(event)),
    answer: (lane) =>
      waitFor(
        () => {
          const from = given.get(lane) ?? 0;
          const ofLane = events.filter(({ stream_id: id }) => id === lane).slice(from);
          const at = ofLane.findIndex((event) => isEnd(event, ofLane));
          if (at === -1) return undefined;
          given.set(lane, from + at + 1);
          return ofLane.slice(0, at + 1);
        },
        { what: `an answer after ${JSON.stringify(events.at(-1))}` },
      ),
    [Symbol.dispose]: () => webSocket.terminate(),
  };
}

/** An error that a stream reports is followed by its response's end. */
const isEnd = (event: SocketEvent, all: readonly SocketEvent[]): boolean =>
  ENDING.has(event.type) && (event.type !== 'error' || all[0] === event);

/** An answer over HTTP instead of a WebSocket. */
export class RefusedHandshake extends Error {
  override readonly name = 'RefusedHandshake';
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: unknown;

  constructor({ statusCode = 0, headers }: IncomingMessage, body: unknown) {
    super(`${statusCode} ${JSON.stringify(body)}`);
    this.status = statusCode;
    this.headers = headers;
    this.body = body;
  }
}

async function opened(webSocket: WebSocket): Promise<IncomingMessage> {
  const upgraded = once(webSocket, 'upgrade');
  const refused = once(webSocket, 'unexpected-response').then(async ([, response]) => {
    const body = await readJson(response);
    throw new RefusedHandshake(response, body);
  });
  refused.catch(() => undefined);
  await Promise.race([once(webSocket, 'open'), refused]);
  const [response] = await upgraded;
  return response;
}

async function readJson(response: IncomingMessage): Promise<unknown> {
  let text = '';
  for await (const chunk of response) text += String(chunk);
  return JSON.parse(text);
}
