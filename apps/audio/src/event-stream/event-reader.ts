import { GatewayError } from '@gateway/contracts/gateway-error';
import { createFrameReader, FrameTooLarge } from '@gateway/service-kit/event-stream/frame-reader';

/** A frame of base64 audio is large, but not this large. */
const MOST_FRAME_BYTES = 8 * 1024 * 1024;

export interface EventReader {
  /**
   * Takes what has come; returns the frames that are now whole, as one block, or null. Hears the data of each.
   *
   * @throws {GatewayError} `upstream_failed` for a frame that does not end
   */
  push(chunk: Buffer): Buffer | null;
  /** What is left when the stream has ended: empty, or a frame that lacks its last blank line, or half a frame. */
  rest(): Buffer;
}

/** Cuts an upstream's event stream so that only whole frames go on; the bytes themselves stay as they are. */
export function createEventReader(onData: (data: string) => void): EventReader {
  const reader = createFrameReader({ maxFrameBytes: MOST_FRAME_BYTES });
  const listener = (data: string | null) => {
    if (data !== null) onData(data);
  };
  return {
    rest: reader.rest,
    push: (chunk) => {
      try {
        return reader.push(chunk, listener);
      } catch (error) {
        if (!(error instanceof FrameTooLarge)) throw error;
        throw new GatewayError('upstream_failed', {
          message: 'The upstream sent an event that is too large to pass on.',
          source: 'upstream',
          cause: error,
        });
      }
    },
  };
}
