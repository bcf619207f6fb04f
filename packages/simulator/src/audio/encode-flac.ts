import { SAMPLE_RATE, toneSamples } from './tone.ts';

/** FLAC (RFC 9639), written without compression: every subframe is verbatim. */
const BLOCK_SAMPLES = 6000;

const crcTable = (bits: 8 | 16, polynomial: number): Uint16Array =>
  Uint16Array.from({ length: 256 }, (_, index) => {
    let value = index << (bits - 8);
    for (let bit = 0; bit < 8; bit += 1)
      value = value & (1 << (bits - 1)) ? (value << 1) ^ polynomial : value << 1;
    return value & (2 ** bits - 1);
  });

const CRC8 = crcTable(8, 0x07);
const CRC16 = crcTable(16, 0x8005);

const crc8 = (bytes: Uint8Array): number => {
  let value = 0;
  for (const byte of bytes) value = CRC8[value ^ byte] ?? 0;
  return value;
};

const crc16 = (bytes: Uint8Array): number => {
  let value = 0;
  for (const byte of bytes) value = ((value << 8) & 0xffff) ^ (CRC16[(value >> 8) ^ byte] ?? 0);
  return value;
};

/** Frame numbers are coded like characters in UTF-8. */
const codedNumber = (number: number): Buffer => {
  if (number < 0x80) return Buffer.from([number]);
  if (number < 0x800) return Buffer.from([0xc0 | (number >> 6), 0x80 | (number & 0x3f)]);
  return Buffer.from([0xe0 | (number >> 12), 0x80 | ((number >> 6) & 0x3f), 0x80 | (number & 0x3f)]);
};

const streamHeader = (totalSamples: number): Buffer => {
  const bytes = Buffer.alloc(42);
  bytes.write('fLaC', 0, 'latin1');
  // One metadata block, the last, STREAMINFO, 34 bytes.
  bytes.set([0x80, 0, 0, 34], 4);
  bytes.writeUInt16BE(BLOCK_SAMPLES, 8);
  bytes.writeUInt16BE(BLOCK_SAMPLES, 10);
  // 20 bits of sample rate, 3 of channels - 1, 5 of bits per sample - 1, 36 of samples; the MD5 stays unknown.
  bytes.writeUInt32BE(((SAMPLE_RATE << 12) | (15 << 4)) >>> 0, 18);
  bytes.writeUInt32BE(totalSamples, 22);
  return bytes;
};

/** Sync and fixed block size; 16-bit block size and 24 kHz; mono, 16 bits. */
const FRAME_START = [0xff, 0xf8, 0x77, 0x08];
const VERBATIM_SUBFRAME = 0x02;

const frame = (number: number, samples: Buffer): Buffer => {
  const size = samples.length / 2 - 1;
  const header = Buffer.from([...FRAME_START, ...codedNumber(number), size >> 8, size & 0xff]);
  const body = Buffer.concat([
    header,
    Buffer.from([crc8(header), VERBATIM_SUBFRAME]),
    Buffer.from(samples).swap16(),
  ]);
  const check = crc16(body);
  return Buffer.concat([body, Buffer.from([check >> 8, check & 0xff])]);
};

/** FLAC, a quarter of a second at a time. */
export function* encodeFlac(durationSeconds: number): Generator<Buffer> {
  const totalSamples = Math.round(durationSeconds * SAMPLE_RATE);
  yield streamHeader(totalSamples);
  for (let start = 0; start < totalSamples; start += BLOCK_SAMPLES) {
    const count = Math.min(BLOCK_SAMPLES, totalSamples - start);
    yield frame(start / BLOCK_SAMPLES, toneSamples(start, count));
  }
}
