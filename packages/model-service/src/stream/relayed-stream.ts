import { type EventFrame, joinFrames } from '@gateway/contracts/event-stream/event-frame';
import type { GatewayError } from '@gateway/contracts/gateway-error';
import { unlessSpent } from '@gateway/service-kit/load/turn-time';
import { type Reply, UnreadableReply } from '@gateway/upstream/replies/reply';

/** The output for a caller: events, or bytes that are none. Null for nothing. */
export type Output = readonly EventFrame[] | Buffer | null;

/**
 * One caller's stream while it is made out of an upstream's: what a service knows of it and `relayStream` does not.
 * Made per stream; holds its state.
 */
export interface RelayedStream {
  /**
   * Takes what has arrived; gives what goes to the caller, in one write. A promise is for what has to be done before the
   * caller gets it: the upstream waits for it. An upstream that cannot be read sets `failure`.
   */
  push(chunk: Buffer): Output | Promise<Output>;
  /** The upstream has closed: gives what the caller is still owed. A close that is too early sets `failure`. */
  end(): Output | Promise<Output>;
  /**
   * Ends the stream that the caller has begun to read, after an error that came from outside of it: gives the dialect's
   * error. Null where the format has no words for it: then the connection is broken off.
   */
  fail(error: GatewayError): readonly EventFrame[] | Promise<readonly EventFrame[]> | null;
  /** Why the stream is not a good answer, if its own content shows so, or it gave nothing. */
  readonly failure: GatewayError | null;
  /** Whether the caller has a whole answer. Then a later error does not count. */
  readonly isWhole: boolean;
  /**
   * What the rest of the upstream's stream is good for. `wanted`: it belongs to the caller's. Otherwise the caller's
   * stream is over, and the rest is `read-off`, which keeps the connection, or `cancelled`, because it may be long.
   * `reporting`: the answer is whole, and what it used may come. `ending`: only a marker of its end may come.
   */
  readonly rest: 'wanted' | 'reporting' | 'ending' | 'read-off' | 'cancelled';
  /** The provider's id of the answer, once it is known; null if the format has none. */
  readonly id: string | null;
  /** An empty frame, for long silences; null while none may be sent. */
  keepAlive(): string | null;
  /** After the upstream has closed: the reply in which it goes on. Null where it had not paused, or may not go on. */
  goOn?(): Promise<Reply | null> | null;
}

type Rest = RelayedStream['rest'];

/** How long a whole answer waits for what may still come, where its upstream leaves the connection open. */
export const graceMs = (rest: Rest): number | undefined => GRACE_MS[rest];
const GRACE_MS: Readonly<Partial<Record<Rest, number>>> = { reporting: 2000, ending: 200 };

/** Whether the caller's stream is over, whatever the upstream still sends. */
export const isOver = (rest: Rest): boolean => rest === 'read-off' || rest === 'cancelled';

/**
 * A reply's chunks until it ends, until no more is wanted, or until it is whole and nothing follows for a while. Leaving
 * the loop cancels the reply.
 *
 * @param rest what the rest is good for, after the chunks that were taken
 * @throws {GatewayError} where it breaks before it is whole
 */
export async function* chunksUntilWhole(reply: Reply, rest: () => Rest): AsyncGenerator<Buffer> {
  const chunks = reply.body[Symbol.asyncIterator]();
  let isLeft = true;
  try {
    while (!isOver(rest())) {
      const next = await within(graceMs(rest()), chunks.next());
      if (next === null) break;
      if (next.done === true) {
        isLeft = false;
        return;
      }
      yield next.value;
      await unlessSpent(next.value.length);
    }
    isLeft = false;
    reply.letGo();
  } finally {
    if (isLeft) await chunks.return?.();
  }
}

/** Null where it does not come in time, or fails then; without a time it is waited for. */
function within<Value>(ms: number | undefined, coming: Promise<Value>): Promise<Value | null> {
  if (ms === undefined) return coming;
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<null>((resolve) => {
    timer = setTimeout(resolve, ms, null);
  });
  return Promise.race([coming.catch(() => null), silence]).finally(() => clearTimeout(timer));
}

/**
 * Reads an upstream's stream for which no caller holds a connection. Yields what a caller would have been
 * sent.
 *
 * @throws {GatewayError} if the stream breaks, or is no good answer
 */
export async function* readStream(reply: Reply, stream: RelayedStream): AsyncGenerator<Buffer> {
  for await (const chunk of chunksUntilWhole(reply, () => stream.rest)) {
    const output = await stream.push(chunk);
    if (stream.failure !== null) throw counted(reply, stream.failure);
    if (output !== null) yield bytesOf(output);
  }
  if (isOver(stream.rest)) return;
  const output = await stream.end();
  if (stream.failure !== null) throw counted(reply, stream.failure);
  if (output !== null) yield bytesOf(output);
}

export const bytesOf = (output: NonNullable<Output>): Buffer =>
  Buffer.isBuffer(output) ? output : Buffer.from(joinFrames(output));

function counted(reply: Reply, failure: GatewayError): GatewayError {
  if (failure instanceof UnreadableReply) reply.unreadable(failure.message);
  return failure;
}
