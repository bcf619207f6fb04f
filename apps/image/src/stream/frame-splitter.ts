/** Cuts an event stream into whole frames, whatever pieces it comes in. Frames of images are large: nothing is copied twice. */
export interface FrameSplitter {
  /** The frames that are now whole, each with the empty line that ends it. */
  push(chunk: Buffer): Buffer[];
}

const LINE_FEED = 0x0a;
const RETURN = 0x0d;

/** @throws {Error} from `push`, for a frame of more than `maxFrameBytes` */
export function createFrameSplitter(maxFrameBytes: number): FrameSplitter {
  let held: Buffer[] = [];
  let heldBytes = 0;
  /** Whether nothing but line ends has come since the last line end: the next one ends the frame. */
  let atLineStart = false;
  return {
    push: (chunk) => {
      const frames: Buffer[] = [];
      let start = 0;
      let position = 0;
      while (position < chunk.length) {
        if (!atLineStart) {
          const end = chunk.indexOf(LINE_FEED, position);
          if (end < 0) break;
          position = end + 1;
          atLineStart = true;
          continue;
        }
        const byte = chunk[position];
        if (byte === RETURN) position += 1;
        else if (byte === LINE_FEED) {
          position += 1;
          frames.push(Buffer.concat([...held, chunk.subarray(start, position)]));
          held = [];
          heldBytes = 0;
          start = position;
          atLineStart = false;
        } else atLineStart = false;
      }
      if (start < chunk.length) {
        held.push(chunk.subarray(start));
        heldBytes += chunk.length - start;
        if (heldBytes > maxFrameBytes) throw new Error('a frame of the event stream is too large');
      }
      return frames;
    },
  };
}
