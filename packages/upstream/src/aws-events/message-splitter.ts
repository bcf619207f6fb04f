import { crc32 } from 'node:zlib';

/** Total length, length of the headers, and the checksum of both. */
const PRELUDE_BYTES = 12;
/** A message without headers and payload: the prelude, and the checksum at its end. */
const MIN_MESSAGE_BYTES = 16;
/** AWS' own clients and servers take no larger one. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/** What has come is no event stream, or not a whole one. */
export class BrokenEventStream extends Error {
  override readonly name = 'BrokenEventStream';
}

/**
 * Cuts the bytes of an AWS event stream into whole messages. A length is believed only after its checksum: a wrong one is found at
 * once, and nothing is allocated or awaited by it.
 */
export class MessageSplitter {
  #held: Buffer[] = [];
  #heldBytes = 0;
  /** Of the message that has begun; 0 until its prelude has come. */
  #messageBytes = 0;

  /** @throws {BrokenEventStream} at the first prelude that cannot be one; messages before it were given */
  *push(chunk: Buffer): Generator<Buffer> {
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    for (;;) {
      if (this.#messageBytes === 0) {
        if (this.#heldBytes < PRELUDE_BYTES) return;
        this.#messageBytes = lengthIn(this.#whole());
      }
      if (this.#heldBytes < this.#messageBytes) return;
      const held = this.#whole();
      const message = held.subarray(0, this.#messageBytes);
      this.#held = [held.subarray(this.#messageBytes)];
      this.#heldBytes -= this.#messageBytes;
      this.#messageBytes = 0;
      yield message;
    }
  }

  /** @throws {BrokenEventStream} where the stream ended within a message */
  end(): void {
    if (this.#heldBytes > 0) throw new BrokenEventStream('the stream ended within a message');
  }

  /** What is held, as one piece. Joined only where a prelude or a message is complete, so that bytes are copied twice at most. */
  #whole(): Buffer {
    const [first] = this.#held;
    if (this.#held.length === 1 && first !== undefined) return first;
    const whole = Buffer.concat(this.#held);
    this.#held = [whole];
    return whole;
  }
}

function lengthIn(start: Buffer): number {
  const total = start.readUInt32BE(0);
  const headers = start.readUInt32BE(4);
  if (crc32(start.subarray(0, 8)) !== start.readUInt32BE(8))
    throw new BrokenEventStream('the checksum of a prelude is wrong');
  if (total < MIN_MESSAGE_BYTES || headers > total - MIN_MESSAGE_BYTES)
    throw new BrokenEventStream('a message has lengths that cannot be');
  if (total > MAX_MESSAGE_BYTES)
    throw new BrokenEventStream(`a message of more than ${MAX_MESSAGE_BYTES} bytes`);
  return total;
}
