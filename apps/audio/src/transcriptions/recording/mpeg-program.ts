import { lasting, type SoundReader, tailOf, UNKNOWN_SOUND } from './audio-source.ts';

const PACK = Buffer.of(0, 0, 1, 0xba);
const PACK_BYTES = 10;
const TAIL_BYTES = 512 * 1024;
const CLOCK_RATE = 90_000;

/** An MPEG programme stream: its packs carry a clock. */
export const readMpegProgram: SoundReader = async (source, start) => {
  const first = clockOf(await source.blocks.upTo(start, PACK_BYTES));
  const { bytes } = await tailOf(source, TAIL_BYTES);
  const last = clockOf(bytes.subarray(Math.max(0, bytes.lastIndexOf(PACK)), bytes.length));
  return first === undefined || last === undefined ? UNKNOWN_SOUND : lasting((last - first) / CLOCK_RATE);
};

/** In ticks. ISO 13818-1, 2.5.3.3; ISO 11172-1, 2.4.3.2. */
function clockOf(pack: Buffer): number | undefined {
  if (pack.length < PACK_BYTES || !pack.subarray(0, PACK.length).equals(PACK)) return undefined;
  const [a, b, c, d, e] = [
    pack.readUInt8(4),
    pack.readUInt8(5),
    pack.readUInt8(6),
    pack.readUInt8(7),
    pack.readUInt8(8),
  ];
  if (a >> 6 === 0b01) {
    const high = ((a >> 3) & 7) * 4 + (a & 3);
    const middle = b * 32 + (c >> 3);
    return high * 2 ** 28 + middle * 2 ** 15 + (c & 3) * 2 ** 13 + d * 32 + (e >> 3);
  }
  if (a >> 4 !== 0b0010) return undefined;
  return ((a >> 1) & 7) * 2 ** 30 + b * 2 ** 22 + (c >> 1) * 2 ** 15 + d * 128 + (e >> 1);
}
