/** First byte of a frame: a whole text message. */
const WHOLE_TEXT = 0x81;
/** The largest lengths that one byte, and two more, hold. */
const MAX_SHORT = 125;
const MAX_MEDIUM = 0xffff;
/** What the one byte says where two, or eight, bytes with the length follow. */
const MEDIUM = 126;
const LONG = 127;

const headBytes = (length: number): number => (length <= MAX_SHORT ? 2 : length <= MAX_MEDIUM ? 4 : 10);

/**
 * Messages of a server as the bytes of one write: `ws` writes twice for each message, and what the system does for many
 * small pieces costs more than all else about a message. Without masks and compression.
 *
 * @see RFC 6455 §5.2
 */
export function createTextFrames(messages: readonly (Buffer | string)[]): Buffer {
  const payloads = messages.map((one) => (typeof one === 'string' ? Buffer.from(one) : one));
  const frames = Buffer.allocUnsafe(
    payloads.reduce((total, { length }) => total + headBytes(length) + length, 0),
  );
  let at = 0;
  for (const payload of payloads) {
    at = writeHead(frames, at, payload.length);
    at += payload.copy(frames, at);
  }
  return frames;
}

/** Returns where the payload begins. */
function writeHead(frames: Buffer, at: number, length: number): number {
  frames[at] = WHOLE_TEXT;
  if (length <= MAX_SHORT) frames[at + 1] = length;
  else if (length <= MAX_MEDIUM) {
    frames[at + 1] = MEDIUM;
    frames.writeUInt16BE(length, at + 2);
  } else {
    frames[at + 1] = LONG;
    frames.writeBigUInt64BE(BigInt(length), at + 2);
  }
  return at + headBytes(length);
}
