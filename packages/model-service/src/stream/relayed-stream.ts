import type { GatewayError } from '@gateway/contracts/gateway-error';
import { type Reply, UnreadableReply } from '@gateway/upstream/replies/reply';

/** The output for a caller: bytes as they came, or text of ours. Null for nothing. */
export type Output = Buffer | string | null;

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
  fail(error: GatewayError): string | Promise<string> | null;
  /** Why the stream is not a good answer, if its own content shows so, or it gave nothing. */
  readonly failure: GatewayError | null;
  /** Whether the caller has a whole answer. Then a later error does not count. */
  readonly isWhole: boolean;
  /**
   * What the rest of the upstream's stream is good for. `wanted`: it belongs to the caller's. Otherwise the caller's
   * stream is over, and the rest is `read-off`, which keeps the connection, or `cancelled`, because it may be long.
   * `ending`: the answer is whole, and only a marker of its end may come.
   */
  readonly rest: 'wanted' | 'ending' | 'read-off' | 'cancelled';
  /** The provider's id of the answer, once it is known; null if the format has none. */
  readonly id: string | null;
  /** An empty frame, for long silences; null while none may be sent. */
  keepAlive(): string | null;
  /** After the upstream has closed: the reply in which it goes on. Null where it had not paused, or may not go on. */
  goOn?(): Promise<Reply | null> | null;
}

/**
 * Reads an upstream's stream for which no caller holds a connection. Yields what a caller would have been
 * sent.
 *
 * @throws {GatewayError} if the stream breaks, or is no good answer
 */
export async function* readStream(reply: Reply, stream: RelayedStream): AsyncGenerator<Buffer> {
  for await (const chunk of reply.body) {
    const output = await stream.push(chunk);
    if (stream.failure !== null) throw counted(reply, stream.failure);
    if (output !== null) yield Buffer.from(output);
    if (stream.rest === 'read-off') reply.letGo();
    if (stream.rest !== 'wanted' && stream.rest !== 'ending') return;
  }
  const output = await stream.end();
  if (stream.failure !== null) throw counted(reply, stream.failure);
  if (output !== null) yield Buffer.from(output);
}

function counted(reply: Reply, failure: GatewayError): GatewayError {
  if (failure instanceof UnreadableReply) reply.unreadable(failure.message);
  return failure;
}
