import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { awaitRedis } from '@gateway/metering/keys/await-redis';

interface StreamReply {
  readonly status: number;
  readonly contentType: string;
  readonly stream: AsyncIterable<string>;
}

/**
 * Sends text at the reader's pace. An error before the first piece is thrown and becomes an error reply; after it the
 * connection is cut, so that no client takes a part for the whole.
 */
export async function sendStream(
  response: ServerResponse,
  { status, contentType, stream }: StreamReply,
): Promise<void> {
  const pieces = stream[Symbol.asyncIterator]();
  const first = await awaitRedis(pieces.next());
  response.writeHead(status, { 'content-type': contentType });
  const rest = async function* () {
    try {
      for (let piece = first; !piece.done; piece = await pieces.next()) yield piece.value;
    } finally {
      // A stream has something to end when its reader leaves.
      await pieces.return?.();
    }
  };
  // A reader that leaves needs no answer; a failure of Redis is in the log.
  await pipeline(Readable.from(rest()), response);
}
