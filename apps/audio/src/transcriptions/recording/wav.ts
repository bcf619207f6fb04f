import { type SoundReader, UNKNOWN_SOUND } from './audio-source.ts';

const HEAD_BYTES = 12;
const CHUNK_HEAD_BYTES = 8;
/** Up to the number of samples in a block. */
const FORMAT_BYTES = 20;
/** PCM, float, A-law, µ-law, and the extended form that names one of them: each sample has a fixed size. */
const FIXED_SIZE_FORMATS: ReadonlySet<number> = new Set([1, 3, 6, 7, 0xfffe]);
/** ADPCM of Microsoft and of IMA: each block has a fixed number of samples. */
const BLOCK_FORMATS: ReadonlySet<number> = new Set([2, 0x11]);
const MAX_SAMPLE_RATE = 1_000_000;
/** Writers that do not know the length in advance put 0 or this there. */
const UNKNOWN_SIZE = 0xffffffff;

/** The seconds of a RIFF file are its sound's bytes by the bytes of a second; the length in its head may be a placeholder. */
export const readWav: SoundReader = async ({ blocks, sizeBytes }) => {
  let bytesPerSecond: number | undefined;
  for (let position = HEAD_BYTES; ; ) {
    const head = await blocks.bytesAt(position, CHUNK_HEAD_BYTES);
    if (head === undefined) return UNKNOWN_SOUND;
    const declared = head.readUInt32LE(4);
    const body = position + CHUNK_HEAD_BYTES;
    const name = head.toString('latin1', 0, 4);
    if (name === 'fmt ') bytesPerSecond = rateOf(await blocks.bytesAt(body, FORMAT_BYTES));
    if (name === 'data') {
      if (bytesPerSecond === undefined) return UNKNOWN_SOUND;
      const rest = sizeBytes - body;
      const isKnown = declared > 0 && declared < UNKNOWN_SIZE && declared <= rest;
      return { durationSeconds: (isKnown ? declared : rest) / bytesPerSecond, hasAudio: true };
    }
    position = body + declared + (declared % 2);
  }
};

/** Bytes of a second; undefined where the head contradicts itself. */
function rateOf(format: Buffer | undefined): number | undefined {
  if (format === undefined) return undefined;
  const [kind, channels] = [format.readUInt16LE(0), format.readUInt16LE(2)];
  const sampleRate = format.readUInt32LE(4);
  let bytesPerSecond = format.readUInt32LE(8);
  // Some writers leave the size of a sample out.
  if (FIXED_SIZE_FORMATS.has(kind))
    bytesPerSecond = sampleRate * channels * Math.ceil(format.readUInt16LE(14) / 8) || bytesPerSecond;
  const blockSamples = BLOCK_FORMATS.has(kind) ? format.readUInt16LE(18) : 0;
  if (blockSamples > 0) bytesPerSecond = (sampleRate * format.readUInt16LE(12)) / blockSamples;
  return sampleRate > 0 && sampleRate <= MAX_SAMPLE_RATE && bytesPerSecond > 0 ? bytesPerSecond : undefined;
}
