import { type AudioSource, lasting, type SoundReader, tailOf, UNKNOWN_SOUND } from './audio-source.ts';

const BLOCK_HEAD_BYTES = 4;
const STREAM_INFO_BYTES = 34;
/** More than the largest frame that encoders write. */
const TAIL_BYTES = 256 * 1024;
const MAX_FRAME_HEAD_BYTES = 16;
/** Looked at for the last frame: sound looks like the begin of a frame once in 32 KB. */
const MAX_MARKS = 1000;

/** What a stream says of itself at its beginning. RFC 9639, 8.2. */
interface StreamInfo {
  readonly maxBlockSamples: number;
  readonly sampleRate: number;
  /** 0: the writer did not know it. */
  readonly totalSamples: number;
}

/** FLAC: the number of samples is in its first block, or follows from its last frame. `start` is where `fLaC` is. */
export const readFlac: SoundReader = async (source, start) => {
  const first = await source.blocks.bytesAt(start + 4, BLOCK_HEAD_BYTES + STREAM_INFO_BYTES);
  const info = first && streamInfoIn(first.subarray(BLOCK_HEAD_BYTES));
  if (info === undefined) return UNKNOWN_SOUND;
  if (info.totalSamples > 0) return lasting(info.totalSamples / info.sampleRate);
  const samples = await samplesUntilEnd(source, info);
  return samples === undefined ? UNKNOWN_SOUND : lasting(samples / info.sampleRate);
};

/** Undefined for what is no such block. */
export function streamInfoIn(block: Buffer): StreamInfo | undefined {
  if (block.length < STREAM_INFO_BYTES) return undefined;
  const sampleRate = block.readUIntBE(10, 3) >>> 4;
  if (sampleRate === 0) return undefined;
  const totalSamples = (block.readUInt8(13) & 0x0f) * 2 ** 32 + block.readUInt32BE(14);
  return { maxBlockSamples: block.readUInt16BE(2), sampleRate, totalSamples };
}

/** The position of the last frame and the samples in it. */
async function samplesUntilEnd(source: AudioSource, info: StreamInfo): Promise<number | undefined> {
  const { bytes } = await tailOf(source, TAIL_BYTES);
  let marks = 0;
  for (let at = bytes.length - 2; at >= 0 && marks < MAX_MARKS; at -= 1) {
    if (bytes[at] !== 0xff || ((bytes[at + 1] ?? 0) & 0xfe) !== 0xf8) continue;
    marks += 1;
    const end = frameEnd(bytes.subarray(at, at + MAX_FRAME_HEAD_BYTES), info);
    if (end !== undefined) return end;
  }
  return undefined;
}

/** Samples up to the end of the frame whose mark is here; undefined where there is none after all. RFC 9639, 9.1. */
function frameEnd(head: Buffer, { maxBlockSamples }: StreamInfo): number | undefined {
  if (head.length < 6) return undefined;
  const [sizes, channels] = [head[2] ?? 0, head[3] ?? 0];
  const [sizeCode, rateCode] = [sizes >> 4, sizes & 0x0f];
  if (sizeCode === 0 || rateCode === 15 || channels >> 4 > 10 || (channels & 1) === 1) return undefined;
  const coded = codedNumber(head.subarray(4));
  if (coded === undefined) return undefined;
  let at = 4 + coded.length;
  let samples = blockSamples(sizeCode);
  if (sizeCode === 6 || sizeCode === 7) {
    const length = sizeCode - 5;
    if (at + length > head.length) return undefined;
    samples = head.readUIntBE(at, length) + 1;
    at += length;
  }
  if (rateCode >= 12) at += rateCode === 12 ? 1 : 2;
  if (at >= head.length || crc8(head.subarray(0, at)) !== head[at]) return undefined;
  const isVariable = ((head[1] ?? 0) & 1) === 1;
  return (isVariable ? coded.value : coded.value * maxBlockSamples) + samples;
}

function blockSamples(code: number): number {
  if (code === 1) return 192;
  return code <= 5 ? 144 * 2 ** code : 2 ** code;
}

/** A number in the way in which UTF-8 codes characters, in up to seven bytes. */
function codedNumber(bytes: Buffer): { readonly value: number; readonly length: number } | undefined {
  const first = bytes[0] ?? 0xff;
  if (first < 0x80) return { value: first, length: 1 };
  const length = Math.clz32(~(first << 24));
  if (length < 2 || length > 7 || bytes.length < length) return undefined;
  let value = first & (0x7f >> length);
  for (const byte of bytes.subarray(1, length)) {
    if (byte >> 6 !== 0b10) return undefined;
    value = value * 64 + (byte & 0x3f);
  }
  return { value, length };
}

function crc8(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = ((crc << 1) ^ (crc & 0x80 ? 0x07 : 0)) & 0xff;
  }
  return crc;
}
