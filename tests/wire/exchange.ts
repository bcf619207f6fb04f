import { type IncomingHttpHeaders, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

export interface WireRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | null;
  /** Leaves after so many milliseconds. */
  readonly leaveAfterMs?: number;
  /** Reads nothing for so many milliseconds once the reply has begun. */
  readonly standMs?: number;
}

/** One request and whatever came back. */
export interface Exchange {
  readonly path: string;
  readonly method: string;
  readonly requestId: string;
  /** Null: no reply began. */
  readonly status: number | null;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /**
   * `refused`: no connection. `lost`: it ended before a reply. `cut`: within the reply. `silent`: nothing for longer than
   * anything may last.
   */
  readonly end: 'complete' | 'refused' | 'lost' | 'cut' | 'left' | 'silent';
  /** `performance.now()`. */
  readonly beganAt: number;
  readonly endedAt: number;
}

/** Longer than a job of a killed worker needs to be taken over, and than every time limit. */
const SILENCE_MS = 100_000;

/** Sends it on a connection of its own. Never rejects. */
export function exchange(origin: string, outgoing: WireRequest): Promise<Exchange> {
  const { promise, resolve } = Promise.withResolvers<Exchange>();
  const beganAt = performance.now();
  const chunks: Buffer[] = [];
  const head: { status: number | null; headers: IncomingHttpHeaders } = { status: null, headers: {} };
  const finish = (end: Exchange['end']): void => {
    clearTimeout(silence);
    clearTimeout(leaving);
    const { path, method, headers } = outgoing;
    resolve({
      path,
      method,
      requestId: headers['x-request-id'] ?? '',
      ...head,
      body: Buffer.concat(chunks),
      end,
      beganAt,
      endedAt: performance.now(),
    });
    sent.destroy();
  };
  const sent = request(origin + outgoing.path, {
    method: outgoing.method,
    headers: outgoing.headers,
    agent: false,
  });
  const silence = setTimeout(() => finish('silent'), SILENCE_MS);
  const leaving =
    outgoing.leaveAfterMs === undefined ? undefined : setTimeout(() => finish('left'), outgoing.leaveAfterMs);

  sent.on('response', async (reply) => {
    head.status = reply.statusCode ?? null;
    head.headers = reply.headers;
    reply.once('error', () => finish('cut'));
    if (outgoing.standMs !== undefined) await delay(outgoing.standMs);
    reply.on('data', (chunk: Buffer) => chunks.push(chunk));
    reply.once('end', () => finish(reply.complete ? 'complete' : 'cut'));
    reply.once('close', () => finish('cut'));
  });
  sent.once('error', (error: NodeJS.ErrnoException) => {
    if (head.status !== null) finish('cut');
    else finish(error.code === 'ECONNREFUSED' ? 'refused' : 'lost');
  });
  sent.end(outgoing.body ?? undefined);
  return promise;
}
