const LINE_FEED = '\n';
const LINE_FEED_BYTE = 0x0a;
const EMPTY_LINE = Buffer.from('\n\n');
/** What follows a line end if the next line is empty. */
const EMPTY_LINES = ['\n\n', '\n\r\n'] as const;
const DATA_FIELD = 'data:';
const [RETURN, SPACE] = [0x0d, 0x20];

/** One frame of an event stream, with the empty line that ends it. */
export interface Frame {
  /** Its range in `bytes`. Frames of one `push` share their bytes and follow one another without a gap. */
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  /**
   * Its `data:` lines joined by LF, each without the spaces before its value; null where there is nothing in them: such a frame is
   * no event. Decoded at each access.
   */
  readonly data: string | null;
  /** The same as its bytes: a part of `bytes` where it is one line. */
  readonly dataBytes: Buffer | null;
  /** Whether its bytes contain this ASCII text; cheaper than `data`. */
  includes(ascii: string): boolean;
  /** The frame with one character per byte, to search its ASCII parts. */
  readonly latin1: string;
}

/**
 * Cuts an event stream into whole frames without changing a byte. Lines end in LF or CR LF. The beginning of a frame is
 * held back until its rest has come.
 */
export interface FrameReader {
  /**
   * Takes the next bytes; returns the frames that they complete.
   *
   * @throws {FrameTooLarge} for a frame larger than the bound; the frames before it were returned
   */
  push(chunk: Buffer): readonly Frame[];
  /**
   * The stream has ended: its last frame where only the empty line is missing, which is added; null for none.
   *
   * @throws {FrameTooLarge} as `push`
   */
  end(): Frame | null;
}

/** The upstream sent a frame beyond the bound. */
export class FrameTooLarge extends Error {
  override readonly name = 'FrameTooLarge';
  constructor(maxBytes: number) {
    super(`an event of more than ${maxBytes} bytes`);
  }
}

const NONE: readonly Frame[] = [];

export function createFrameReader({ maxFrameBytes }: { maxFrameBytes: number }): FrameReader {
  let held: Buffer[] = [];
  let heldBytes = 0;
  /** The last characters of what is held: an empty line may lie across two chunks. */
  let heldEnd = LINE_FEED;
  let isTooLarge = false;

  const hold = (bytes: Buffer) => {
    if (bytes.length === 0) return;
    held.push(bytes);
    heldBytes += bytes.length;
    heldEnd = (heldEnd + bytes.toString('latin1', Math.max(0, bytes.length - 2))).slice(-2);
    if (heldBytes > maxFrameBytes) isTooLarge = true;
  };
  const takeHeld = (): Buffer => {
    const bytes = held.length === 1 && held[0] ? held[0] : Buffer.concat(held);
    held = [];
    heldBytes = 0;
    heldEnd = LINE_FEED;
    return bytes;
  };
  const checkSize = () => {
    if (isTooLarge) throw new FrameTooLarge(maxFrameBytes);
  };

  return {
    push(chunk) {
      checkSize();
      const mayEndFrame = endsInFrameEnd(chunk) || endsFrame(heldEnd, chunk);
      if (heldBytes > 0 || !mayEndFrame) hold(chunk);
      if (!mayEndFrame) {
        checkSize();
        return NONE;
      }
      const bytes = heldBytes > 0 ? takeHeld() : chunk;
      isTooLarge = false;
      const text = bytes.toString('latin1');
      const frames: Frame[] = [];
      let end = 0;
      for (let frame = readFrame(bytes, text, 0); frame !== null; frame = readFrame(bytes, text, end)) {
        if (frame.end - frame.start > maxFrameBytes) {
          isTooLarge = true;
          if (frames.length === 0) checkSize();
          return frames;
        }
        frames.push(frame);
        end = frame.end;
      }
      if (end < bytes.length) hold(bytes.subarray(end));
      return frames;
    },
    end() {
      checkSize();
      if (heldBytes === 0) return null;
      const bytes = Buffer.concat([takeHeld(), EMPTY_LINE]);
      return readFrame(bytes, bytes.toString('latin1'), 0);
    },
  };
}

/** The common case. */
const endsInFrameEnd = (chunk: Buffer): boolean =>
  chunk[chunk.length - 1] === LINE_FEED_BYTE && chunk[chunk.length - 2] === LINE_FEED_BYTE;

/** Whether a chunk that follows these characters has an empty line. */
function endsFrame(before: string, chunk: Buffer): boolean {
  if (!chunk.includes(LINE_FEED_BYTE)) return false;
  const across = before + chunk.toString('latin1', 0, 2);
  return EMPTY_LINES.some((line) => across.includes(line) || chunk.includes(line));
}

class BytesFrame implements Frame {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  /** The same bytes, one character each. */
  readonly #text: string;
  #latin1: string | null = null;

  constructor(bytes: Buffer, text: string, start: number, end: number) {
    this.bytes = bytes;
    this.start = start;
    this.end = end;
    this.#text = text;
  }

  get data(): string | null {
    const values = this.#values();
    if (values.length === 0) return null;
    let data = this.bytes.toString('utf8', values[0], values[1]);
    for (let index = 2; index < values.length; index += 2)
      data += LINE_FEED + this.bytes.toString('utf8', values[index], values[index + 1]);
    return data === '' ? null : data;
  }

  get dataBytes(): Buffer | null {
    const values = this.#values();
    if (values.length !== 2) return this.data === null ? null : Buffer.from(this.data);
    const [from, to] = values;
    return from === to ? null : this.bytes.subarray(from, to);
  }

  get latin1(): string {
    this.#latin1 ??= this.#text.slice(this.start, this.end);
    return this.#latin1;
  }

  includes(ascii: string): boolean {
    return this.latin1.includes(ascii);
  }

  /** The values of its data lines, as offsets in its bytes: start and end in turn. */
  #values(): readonly number[] {
    const text = this.#text;
    const values: number[] = [];
    for (let at = this.start; at < this.end; ) {
      const feed = text.indexOf(LINE_FEED, at);
      if (text.startsWith(DATA_FIELD, at)) {
        let start = at + DATA_FIELD.length;
        while (text.charCodeAt(start) === SPACE) start += 1;
        values.push(start, endOfLine(text, start, feed));
      }
      at = feed + 1;
    }
    return values;
  }
}

/** @param text the same bytes, one character each */
function readFrame(bytes: Buffer, text: string, start: number): BytesFrame | null {
  for (let at = start; ; ) {
    const feed = text.indexOf(LINE_FEED, at);
    if (feed < 0) return null;
    if (endOfLine(text, at, feed) === at) return new BytesFrame(bytes, text, start, feed + 1);
    at = feed + 1;
  }
}

const endOfLine = (text: string, start: number, feed: number): number =>
  feed > start && text.charCodeAt(feed - 1) === RETURN ? feed - 1 : feed;
