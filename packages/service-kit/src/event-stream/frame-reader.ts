const [LINE_FEED, RETURN, SPACE, COLON] = [0x0a, 0x0d, 0x20, 0x3a];
const DATA = Buffer.from('data');

/** What an event stream's frames are told to, one by one, in their order. */
export type FrameListener = (data: string | null) => void;

/**
 * Cuts an event stream into whole frames without changing a byte. Lines end in LF or CR LF. The beginning of a frame is
 * held back until its rest has come, so that whoever writes on what is returned never ends within a frame.
 */
export interface FrameReader {
  /**
   * Takes the next bytes; returns the whole frames they complete, as one piece, or null when there are none yet.
   * The listener hears the data of each frame (its `data:` lines joined by LF; null where it has none).
   *
   * @throws {FrameTooLarge} for a frame larger than the bound
   * @throws what the listener throws; `accepted` then says how far the stream had come
   */
  push(chunk: Buffer, listener: FrameListener): Buffer | null;
  /** After the listener has thrown: the frames of that chunk before the one that it refused. */
  readonly accepted: Buffer | null;
  /** The frame that has begun and not ended. */
  rest(): Buffer;
}

/** The upstream sent a frame beyond all measure. */
export class FrameTooLarge extends Error {
  override readonly name = 'FrameTooLarge';
  constructor(maxBytes: number) {
    super(`an event of more than ${maxBytes} bytes`);
  }
}

export function createFrameReader({ maxFrameBytes }: { maxFrameBytes: number }): FrameReader {
  let held: Buffer[] = [];
  let heldBytes = 0;
  let accepted: Buffer | null = null;

  const hold = (bytes: Buffer) => {
    if (bytes.length === 0) return;
    held.push(bytes);
    heldBytes += bytes.length;
    if (heldBytes > maxFrameBytes) throw new FrameTooLarge(maxFrameBytes);
  };
  const rest = () => (held.length === 1 && held[0] ? held[0] : Buffer.concat(held));

  return {
    get accepted() {
      return accepted;
    },
    rest,
    push(chunk, listener) {
      accepted = null;
      hold(chunk);
      // A frame ends with a line end: without one in the new bytes there is nothing to look for.
      if (!chunk.includes(LINE_FEED)) return null;
      const bytes = rest();
      held = [];
      heldBytes = 0;
      let end = 0;
      try {
        for (;;) {
          const frame = readFrame(bytes, end);
          if (frame === null) break;
          listener(frame.data);
          end = frame.end;
        }
      } catch (error) {
        accepted = end === 0 ? null : bytes.subarray(0, end);
        throw error;
      }
      hold(bytes.subarray(end));
      return end === 0 ? null : bytes.subarray(0, end);
    },
  };
}

interface Frame {
  readonly data: string | null;
  /** The place behind the empty line that ends it. */
  readonly end: number;
}

function readFrame(bytes: Buffer, start: number): Frame | null {
  let data: string | null = null;
  let at = start;
  for (;;) {
    const feed = bytes.indexOf(LINE_FEED, at);
    if (feed < 0) return null;
    const lineEnd = feed > at && bytes[feed - 1] === RETURN ? feed - 1 : feed;
    if (lineEnd === at) return { data, end: feed + 1 };
    const value = dataOf(bytes, at, lineEnd);
    if (value !== null) data = data === null ? value : `${data}\n${value}`;
    at = feed + 1;
  }
}

/** The value of a `data:` line; one space behind the colon does not belong to it. Null for any other line. */
function dataOf(bytes: Buffer, start: number, end: number): string | null {
  const nameEnd = start + DATA.length;
  if (bytes[start] !== DATA[0] || bytes[nameEnd] !== COLON || nameEnd >= end) return null;
  if (bytes.compare(DATA, 0, DATA.length, start, nameEnd) !== 0) return null;
  const valueStart = bytes[nameEnd + 1] === SPACE ? nameEnd + 2 : nameEnd + 1;
  return bytes.toString('utf8', valueStart, end);
}
