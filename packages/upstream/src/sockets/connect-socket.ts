import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Dialect } from '@gateway/contracts/gateway-error';
import { type ClientOptions, WebSocket } from 'ws';
import type { Channel } from '../configuration/configuration.ts';
import { openConnector } from '../connecting/open-pool.ts';
import type { Authorization } from '../credentials/credential-source.ts';
import { answerFailure, type ErrorAnswer } from '../failures/answer-failure.ts';
import {
  connectFailure,
  noAnswerFailure,
  noCredentialsFailure,
  timeoutFailure,
} from '../failures/exchange-failure.ts';
import type { Failure } from '../failures/failure.ts';
import { requestPath } from '../requests/operation-path.ts';
import { type RequestHeaders, upstreamHeaders } from '../requests/request-headers.ts';
import type { Turn } from '../sending/send-progress.ts';
import { kindOfProtocol } from '../sending/time-limits.ts';

const OPERATION = 'realtime';

export interface ConnectOptions {
  readonly turn: Turn;
  /** Of the address, without `?`. */
  readonly query: string;
  /** The caller's; those on the protocol's list are passed on. */
  readonly headers: RequestHeaders;
  readonly dialect: Dialect;
  /** A longer message ends the connection. */
  readonly maxMessageBytes: number;
  /** What a provider's first message is: the beginning of a session, or an answer of an error. */
  readonly readFirst: (message: Buffer) => 'session' | ErrorAnswer;
  /** The time within which the session must have begun, whatever the channel allows. */
  readonly withinMs: number;
  /** Fires when the caller leaves. */
  readonly signal: AbortSignal;
}

interface Message {
  readonly data: Buffer;
  readonly isBinary: boolean;
}

/** Messages that nobody takes yet: those of the chunk that began the session. */
export interface MessageQueue {
  onMessage: (data: Buffer, isBinary: boolean) => unknown;
  push(message: Message): void;
  flush(take: (data: Buffer, isBinary: boolean) => void): void;
}

/** A connection on which a session has begun: paused, its first messages in the queue. */
export interface Connected {
  readonly webSocket: WebSocket;
  readonly queue: MessageQueue;
}

type Result =
  | { readonly connected: Connected; readonly failure: null }
  | { readonly connected: null; readonly failure: Failure };

/** Connects to one channel, once more with new credentials where it says that these have expired. */
export async function connectSocket(options: ConnectOptions): Promise<Result> {
  const { candidate, state } = options.turn;
  const { credentials } = state;
  const path = requestPath(candidate, { operation: OPERATION, query: options.query }, false);
  const list = upstreamHeaders(candidate.account, options.headers, OPERATION, null);
  const failed = (failure: Failure): Result => ({ connected: null, failure });
  for (let isFirst = true; ; isFirst = false) {
    let authorization: Authorization | null = null;
    try {
      const request = { method: 'GET', origin: candidate.channel.origin, path, headers: list, body: null };
      authorization = (await credentials?.authorize(request)) ?? null;
    } catch (error) {
      return failed(noCredentialsFailure(candidate, error));
    }
    const headers = paired([...list, ...(authorization?.headers ?? [])]);
    const answer = await handshake(options, path, headers);
    if (!('status' in answer)) return answer;
    const isRenewed =
      isFirst &&
      authorization !== null &&
      credentials?.mayHaveExpired(answer.status) === true &&
      (await credentials.renew(answer, authorization));
    if (!isRenewed)
      return failed(
        answerFailure(answer, {
          ...{ candidate, dialect: options.dialect, namesObject: false, translated: false },
        }),
      );
  }
}

const paired = (list: readonly string[]): Record<string, string> => {
  const headers: Record<string, string> = {};
  for (let at = 0; at < list.length; at += 2) headers[list[at] ?? ''] = list[at + 1] ?? '';
  return headers;
};

/** Resolves to the connection, why there is none, or the error that the provider answered with. */
async function handshake(
  { turn, maxMessageBytes, readFirst, withinMs, signal }: ConnectOptions,
  path: string,
  headers: Record<string, string>,
): Promise<Result | ErrorAnswer> {
  const { candidate } = turn;
  const { channel, protocol } = candidate;
  const { promise, resolve } = Promise.withResolvers<Result | ErrorAnswer>();
  const failed = (failure: Failure) => resolve({ connected: null, failure });
  let socket: Socket;
  try {
    socket = await connectTo(channel);
  } catch (error) {
    const cause = error instanceof Error ? error : new Error(String(error));
    return { connected: null, failure: connectFailure(candidate, cause) };
  }
  const webSocket = new WebSocket(`${channel.origin.replace(/^http/, 'ws')}${path}`, {
    headers,
    // Audio hardly gets smaller, and each context of compression takes some 300 KB.
    perMessageDeflate: false,
    maxPayload: maxMessageBytes,
    createConnection: () => socket,
  } satisfies ClientOptions);
  const { firstOutputMs } = channel.timeLimits[kindOfProtocol(protocol)];
  const timer = setTimeout(
    () => failed(timeoutFailure(candidate, 'timeout', null, 'first output', 'checking')),
    Math.min(firstOutputMs, withinMs),
  );
  const leave = () => failed({ kind: 'left', candidate, status: null, detail: 'the caller left' });
  signal.addEventListener('abort', leave);
  if (signal.aborted) leave();
  let isOpen = false;
  webSocket.on('error', (error) => {
    if (!isOpen) failed(connectFailure(candidate, error));
  });
  webSocket.once('open', () => {
    isOpen = true;
  });
  webSocket.once('unexpected-response', (_request, response) => {
    void answerOf(response).then(resolve);
  });
  webSocket.once('close', (code) => {
    const detail = `it closed the WebSocket with ${code} before the session began`;
    failed(noAnswerFailure(candidate, 'failed', 101, detail));
  });
  const queue = createQueue();
  queue.onMessage = (data, isBinary) => {
    queue.push({ data, isBinary });
    queue.onMessage = (next, isNextBinary) => queue.push({ data: next, isBinary: isNextBinary });
    webSocket.pause();
    const first = readFirst(data);
    if (first === 'session') resolve({ connected: { webSocket, queue }, failure: null });
    else resolve(first);
  };
  webSocket.on('message', (data, isBinary) => {
    if (Buffer.isBuffer(data)) queue.onMessage(data, isBinary);
  });
  const result = await promise;
  clearTimeout(timer);
  signal.removeEventListener('abort', leave);
  if ('status' in result || result.connected === null) webSocket.terminate();
  return result;
}

function createQueue(): MessageQueue {
  const waiting: Message[] = [];
  return {
    onMessage: () => undefined,
    push: (message) => void waiting.push(message),
    flush: (take) => {
      for (const { data, isBinary } of waiting.splice(0)) take(data, isBinary);
    },
  };
}

/** A connection to the channel's origin; rejects where it cannot be made. */
function connectTo({ origin, network, connectMs }: Channel): Promise<Socket> {
  const { protocol, hostname, host, port } = new URL(origin);
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  openConnector(origin, { network, connectMs })({ protocol, hostname, host, port }, (...[error, socket]) =>
    error === null ? resolve(socket) : reject(error),
  );
  return promise;
}

/** An error's body is read up to here. */
const MAX_ANSWER_BYTES = 64 * 1024;

async function answerOf(response: IncomingMessage): Promise<ErrorAnswer> {
  const { statusCode: status = 0, headers } = response;
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of response) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > MAX_ANSWER_BYTES) break;
    }
  } catch {
    // What has come of it is its answer.
  }
  return { status, headers, body: Buffer.concat(chunks).toString() };
}
