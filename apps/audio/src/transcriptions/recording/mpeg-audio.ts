import { lasting, type SoundReader, UNKNOWN_SOUND } from './audio-source.ts';

const FRAME_HEAD_BYTES = 4;
/** Read at once. */
const PIECE_BYTES = 32 * 1024;
/** Of a file with more than this between its frames nothing is known. */
const MAX_FOREIGN_BYTES = 4 * 1024 * 1024;

/** Kilobits per second by layer, for MPEG 1 and for the lower rates of MPEG 2 and 2.5. ISO 11172-3, 2.4.2.3. */
const BIT_RATES: Readonly<Record<'full' | 'lower', readonly (readonly number[])[]>> = {
  full: [
    [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
    [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
    [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  ],
  lower: [
    [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
    [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
    [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
  ],
};
const SAMPLE_RATES = [44_100, 48_000, 32_000] as const;
/** By the two bits of the version: 2.5, reserved, 2, 1. */
const RATE_DIVISORS = [4, 0, 2, 1] as const;

interface MpegFrame {
  readonly sizeBytes: number;
  readonly seconds: number;
}

/** The frame that begins here; undefined where none does, or its size is not said. */
export function mpegFrame(bytes: Buffer, at = 0): MpegFrame | undefined {
  const [first = 0, flags = 0, rates = 0xff] = [bytes[at], bytes[at + 1], bytes[at + 2]];
  if (first !== 0xff || (flags & 0xe0) !== 0xe0) return undefined;
  const divisor = RATE_DIVISORS[(flags >> 3) & 3] ?? 0;
  const layer = 4 - ((flags >> 1) & 3);
  const rate = SAMPLE_RATES[(rates >> 2) & 3];
  if (divisor === 0 || layer === 4 || rate === undefined) return undefined;
  const kilobits = BIT_RATES[divisor === 1 ? 'full' : 'lower'][layer - 1]?.[rates >> 4];
  if (!kilobits) return undefined;
  const sampleRate = rate / divisor;
  const samples = layer === 1 ? 384 : layer === 3 && divisor > 1 ? 576 : 1152;
  const padding = (rates >> 1) & 1;
  const sizeBytes =
    layer === 1
      ? (Math.floor((12_000 * kilobits) / sampleRate) + padding) * 4
      : Math.floor((samples * 125 * kilobits) / sampleRate) + padding;
  return { sizeBytes, seconds: samples / sampleRate };
}

/** The first frame may hold facts about the file in the place of sound. */
const INFO_FRAME = /^[\s\S]{13,36}(?:Xing|Info|VBRI)/;
const INFO_BYTES = 40;

/** Counts the frames: few files say how many they have, and what they say need not be so. */
export const readMpegAudio: SoundReader = async ({ blocks, sizeBytes }, start) => {
  const info = (await blocks.upTo(start, INFO_BYTES)).toString('latin1');
  let seconds = INFO_FRAME.test(info) ? -(mpegFrame(Buffer.from(info, 'latin1'))?.seconds ?? 0) : 0;
  let position = start;
  let foreignBytes = 0;
  while (position + FRAME_HEAD_BYTES <= sizeBytes) {
    const piece = await blocks.upTo(position, PIECE_BYTES);
    let at = 0;
    while (at + FRAME_HEAD_BYTES <= piece.length) {
      const frame = mpegFrame(piece, at);
      seconds += frame?.seconds ?? 0;
      const next = frame === undefined ? nextMark(piece, at + 1) : at + frame.sizeBytes;
      if (frame === undefined) foreignBytes += next - at;
      at = next;
    }
    if (foreignBytes > MAX_FOREIGN_BYTES) return UNKNOWN_SOUND;
    if (piece.length < FRAME_HEAD_BYTES) break;
    position += at;
  }
  return lasting(seconds);
};

/** Where a frame may begin. */
function nextMark(bytes: Buffer, from: number): number {
  const at = bytes.indexOf(0xff, from);
  return at === -1 ? bytes.length : at;
}
