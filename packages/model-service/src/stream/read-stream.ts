import type { GatewayError } from '@gateway/contracts/gateway-error';
import { type Reply, UnreadableReply } from '@gateway/upstream/replies/reply';
import type { RelayedStream } from './relayed-stream.ts';

/**
 * Reads an upstream's stream where nobody holds a connection for it: gives what a caller would have been sent.
 *
 * @throws {GatewayError} where it breaks, or is no good answer
 */
export async function* readStream(reply: Reply, stream: RelayedStream): AsyncGenerator<Buffer> {
  for await (const chunk of reply.body) {
    const output = await stream.push(chunk);
    if (stream.failure !== null) throw counted(reply, stream.failure);
    if (output !== null) yield Buffer.from(output);
    if (stream.rest !== 'wanted') return;
  }
  const output = await stream.end();
  if (stream.failure !== null) throw counted(reply, stream.failure);
  if (output !== null) yield Buffer.from(output);
}

function counted(reply: Reply, failure: GatewayError): GatewayError {
  if (failure instanceof UnreadableReply) reply.unreadable(failure.message);
  return failure;
}
