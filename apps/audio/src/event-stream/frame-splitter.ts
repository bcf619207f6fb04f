import { GatewayError } from '@gateway/contracts/gateway-error';

const FRAME_ENDS = [Buffer.from('\n\n'), Buffer.from('\r\n\r\n'), Buffer.from('\r\r')];
/** A frame of base64 audio is large, but not this large. */
const FRAME_MAX_BYTES = 8 * 1024 * 1024;

/** Cuts an event stream so that only whole frames go on; the bytes themselves stay as they are. */
export class FrameSplitter {
  #rest: Buffer = Buffer.alloc(0);

  /**
   * Takes what has come; returns the frames that are now whole, as one block, or null.
   *
   * @throws {GatewayError} `upstream_failed` for a frame that does not end
   */
  push(chunk: Buffer): Buffer | null {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const end = lastFrameEnd(bytes);
    this.#rest = bytes.subarray(end);
    if (this.#rest.length > FRAME_MAX_BYTES) {
      throw new GatewayError('upstream_failed', {
        message: 'The upstream sent an event that is too large to pass on.',
        source: 'upstream',
      });
    }
    return end === 0 ? null : bytes.subarray(0, end);
  }

  /** What is left when the stream has ended: empty, or a frame that lacks its last blank line, or half a frame. */
  get rest(): Buffer {
    return this.#rest;
  }
}

const lastFrameEnd = (bytes: Buffer): number =>
  Math.max(
    ...FRAME_ENDS.map((end) => {
      const at = bytes.lastIndexOf(end);
      return at < 0 ? 0 : at + end.length;
    }),
  );
