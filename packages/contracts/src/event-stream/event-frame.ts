import type { Frame } from './frame-reader.ts';

/** One event on its way to its caller: as it came, or the text of one of ours. */
export type EventFrame = Frame | string;

/** Events as they go over HTTP. Neighbours that came together keep their bytes. */
export function joinFrames(frames: readonly EventFrame[]): Buffer | string {
  const parts: (Buffer | string)[] = [];
  for (let at = 0; at < frames.length; ) {
    const next = endOfRun(frames, at);
    const part = joinRun(frames, at, next);
    if (next - at === frames.length) return part;
    parts.push(part);
    at = next;
  }
  return parts.length === 0 ? '' : Buffer.concat(parts.map(toBytes));
}

/** The index after the frames from here on that are one piece: texts, or neighbours that came together. */
function endOfRun(frames: readonly EventFrame[], from: number): number {
  const first = frames[from];
  let end = typeof first === 'object' ? first.end : 0;
  let at = from + 1;
  for (; at < frames.length; at += 1) {
    const frame = frames[at];
    if (typeof frame === 'object' && typeof first === 'object') {
      if (frame.bytes !== first.bytes || frame.start !== end) break;
      end = frame.end;
    } else if (typeof frame !== typeof first) break;
  }
  return at;
}

function joinRun(frames: readonly EventFrame[], from: number, to: number): Buffer | string {
  const [first, last] = [frames[from], frames[to - 1]];
  if (typeof first === 'object' && typeof last === 'object')
    return first.bytes.subarray(first.start, last.end);
  return frames.slice(from, to).join('');
}

const toBytes = (part: Buffer | string): Buffer => (typeof part === 'string' ? Buffer.from(part) : part);

/** An event's data; null where it has none. */
export const eventDataOf = (frame: EventFrame): string | null =>
  typeof frame === 'string' ? dataIn(frame) : frame.data;

/** The same as its bytes. */
export function eventBytesOf(frame: EventFrame): Buffer | null {
  if (typeof frame !== 'string') return frame.dataBytes;
  const data = dataIn(frame);
  return data === null ? null : Buffer.from(data);
}

const [FIRST_LINE, LATER_LINE] = ['data: ', '\ndata: '];
const EMPTY_LINE_LENGTH = 2;

/** We write data as one line, the last of its frame. */
function dataIn(text: string): string | null {
  if (text.startsWith(FIRST_LINE)) return text.slice(FIRST_LINE.length, -EMPTY_LINE_LENGTH);
  const at = text.indexOf(LATER_LINE);
  return at < 0 ? null : text.slice(at + LATER_LINE.length, -EMPTY_LINE_LENGTH);
}
