/** Follows where the frames end that a service sends on a WebSocket (RFC 6455 §5.2), so that something can be said when it is lost. */
export class ServiceFrames {
  readonly #head = Buffer.alloc(MAX_HEAD_BYTES);
  #headBytes = 0;
  #payloadBytesLeft = 0;
  /** Another piece of the message is to come. */
  #isFragmented = false;
  #isClosed = false;

  take(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; ) {
      if (this.#payloadBytesLeft > 0) {
        const taken = Math.min(this.#payloadBytesLeft, chunk.length - at);
        this.#payloadBytesLeft -= taken;
        at += taken;
        continue;
      }
      this.#head[this.#headBytes] = chunk[at] ?? 0;
      this.#headBytes += 1;
      at += 1;
      if (this.#headBytes >= 2 && this.#headBytes === headSizeOf(this.#head)) this.#begin();
    }
  }

  #begin(): void {
    const [first = 0, second = 0] = this.#head;
    const opcode = first & OPCODE;
    if (opcode === CLOSE) this.#isClosed = true;
    if (opcode < CLOSE) this.#isFragmented = (first & FIN) === 0;
    const size = second & SIZE;
    this.#payloadBytesLeft =
      size < SIZE_16
        ? size
        : size === SIZE_16
          ? this.#head.readUInt16BE(2)
          : Number(this.#head.readBigUInt64BE(2));
    this.#headBytes = 0;
  }

  /** A close frame has begun: nothing may follow it. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** What can still be sent in the service's place: nothing in the middle of a frame, no text in the middle of a message. */
  ending(event: string | null, closing: { readonly code: number; readonly reason: string }): Buffer[] {
    if (this.#isClosed || this.#headBytes > 0 || this.#payloadBytesLeft > 0) return [];
    const code = Buffer.alloc(2);
    code.writeUInt16BE(closing.code);
    const close = frame(CLOSE, Buffer.concat([code, Buffer.from(closing.reason)]));
    return event === null || this.#isFragmented ? [close] : [frame(TEXT, Buffer.from(event)), close];
  }
}

/** First byte: the end of a message, and what the frame is. Second: how long its payload is, or how many bytes say that. */
const [FIN, OPCODE, MASKED, SIZE] = [0x80, 0x0f, 0x80, 0x7f];
const [TEXT, CLOSE] = [1, 8];
const [SIZE_16, SIZE_64] = [126, 127];
const MAX_HEAD_BYTES = 14;

function headSizeOf([, second = 0]: Buffer): number {
  const size = second & SIZE;
  return 2 + (size === SIZE_16 ? 2 : size === SIZE_64 ? 8 : 0) + ((second & MASKED) === 0 ? 0 : 4);
}

/** A whole message of less than 64 KiB; a server's is not masked. */
function frame(opcode: number, payload: Buffer): Buffer {
  const head = Buffer.from([FIN | opcode, payload.length]);
  if (payload.length < SIZE_16) return Buffer.concat([head, payload]);
  const longer = Buffer.from([FIN | opcode, SIZE_16, 0, 0]);
  longer.writeUInt16BE(payload.length, 2);
  return Buffer.concat([longer, payload]);
}
