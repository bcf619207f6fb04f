import { type Picture, rowColour } from './picture.ts';

/**
 * Lossless WebP (RFC 9649, section 3). A row is one literal pixel and copies of the pixel to its left, in prefix
 * codes that are the same for every picture.
 */
const MAX_COPY = 4096;
const LITERALS = 256;
const LONG_LENGTH_SYMBOLS_FROM = LITERALS + 8;
const GREEN_SYMBOLS = LITERALS + 24;
/** Code lengths of the green alphabet: 256 literals of 9 bits, 8 copy lengths of 5, 16 of 6; together complete. */
const LITERAL_BITS = 9;
const SHORT_BITS = 5;
const LONG_BITS = 6;
/** Canonical first codes of those lengths. */
const FIRST_LONG_CODE = 16;
const FIRST_LITERAL_CODE = 256;

/** Order in which the code lengths of the code lengths are written. */
const CODE_LENGTH_ORDER = [17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8, 9];

const createBits = (capacityBytes: number) => {
  const bytes = Buffer.alloc(capacityBytes);
  let position = 0;
  const bit = (value: number): void => {
    if (value & 1) bytes[position >> 3] = (bytes[position >> 3] ?? 0) | (1 << (position & 7));
    position += 1;
  };
  return {
    /** A number, its lowest bit first. */
    put: (value: number, bits: number): void => {
      for (let index = 0; index < bits; index += 1) bit(value >> index);
    },
    /** A prefix code, its highest bit first. */
    code: (value: number, bits: number): void => {
      for (let index = bits - 1; index >= 0; index -= 1) bit(value >> index);
    },
    finish: (): Buffer => bytes.subarray(0, Math.ceil(position / 8)),
  };
};
type Bits = ReturnType<typeof createBits>;

/** Announces a prefix code by the lengths of its code lengths, given by code length. */
const putCodeLengths = (bits: Bits, lengths: Readonly<Record<number, number>>): void => {
  bits.put(0, 1);
  bits.put(CODE_LENGTH_ORDER.length - 4, 4);
  for (const symbol of CODE_LENGTH_ORDER) bits.put(lengths[symbol] ?? 0, 3);
  bits.put(0, 1);
};

const putGreenCode = (bits: Bits): void => {
  putCodeLengths(bits, { [LITERAL_BITS]: 1, [SHORT_BITS]: 2, [LONG_BITS]: 2 });
  for (let symbol = 0; symbol < GREEN_SYMBOLS; symbol += 1) {
    if (symbol < LITERALS) bits.code(0b0, 1);
    else bits.code(symbol < LONG_LENGTH_SYMBOLS_FROM ? 0b10 : 0b11, 2);
  }
};

/** Red and blue: 256 symbols of 8 bits, so that a value is its own code. Length 0 is named to complete the code. */
const putByteCode = (bits: Bits): void => {
  putCodeLengths(bits, { 0: 1, 8: 1 });
  for (let symbol = 0; symbol < LITERALS; symbol += 1) bits.code(1, 1);
};

/** A code of one symbol, which then takes no bits. */
const putSingleCode = (bits: Bits, symbol: number): void => {
  bits.put(1, 1);
  bits.put(0, 1);
  bits.put(1, 1);
  bits.put(symbol, 8);
};

const putCopy = (bits: Bits, length: number): void => {
  const value = length - 1;
  const highest = value < 4 ? 0 : 31 - Math.clz32(value);
  const extraBits = value < 4 ? 0 : highest - 1;
  const symbol = value < 4 ? value : 2 * highest + ((value >> extraBits) & 1);
  if (symbol < 8) bits.code(symbol, SHORT_BITS);
  else bits.code(FIRST_LONG_CODE + symbol - 8, LONG_BITS);
  bits.put(value & ((1 << extraBits) - 1), extraBits);
};

/** The distance code 2 is the pixel to the left; its symbol is 1. */
const LEFT_PIXEL_SYMBOL = 1;

const encodePixels = (picture: Picture): Buffer => {
  const { width, height, alpha } = picture;
  const bits = createBits(height * (4 + 3 * Math.ceil(width / MAX_COPY)) + 512);
  bits.put(0x2f, 8);
  bits.put(width - 1, 14);
  bits.put(height - 1, 14);
  bits.put(alpha === 255 ? 0 : 1, 1);
  bits.put(0, 3);
  // No transform, no colour cache, one set of prefix codes.
  bits.put(0, 3);
  putGreenCode(bits);
  putByteCode(bits);
  putByteCode(bits);
  putSingleCode(bits, alpha);
  putSingleCode(bits, LEFT_PIXEL_SYMBOL);
  for (let row = 0; row < height; row += 1) {
    const [red, green, blue] = rowColour(picture, row);
    bits.code(FIRST_LITERAL_CODE + green, LITERAL_BITS);
    bits.code(red, 8);
    bits.code(blue, 8);
    for (let left = width - 1; left > 0; left -= MAX_COPY) putCopy(bits, Math.min(left, MAX_COPY));
  }
  return bits.finish();
};

export const encodeWebp = (picture: Picture): Buffer => {
  const pixels = encodePixels(picture);
  const padding = pixels.length % 2;
  const bytes = Buffer.alloc(20 + pixels.length + padding);
  bytes.write('RIFF', 0, 'latin1');
  bytes.writeUInt32LE(bytes.length - 8, 4);
  bytes.write('WEBPVP8L', 8, 'latin1');
  bytes.writeUInt32LE(pixels.length, 16);
  bytes.set(pixels, 20);
  return bytes;
};
