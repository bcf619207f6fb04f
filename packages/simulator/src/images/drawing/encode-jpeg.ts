import { type Colour, type Picture, rowColour } from './picture.ts';

const BLOCK = 8;

/** Code lengths and codes of the DC categories 0–8: the standard luminance table (ITU-T T.81, K.3). */
const DC_COUNTS = [0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0];
const DC_VALUES = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];
const DC_LENGTHS = [2, 3, 3, 3, 3, 3, 4, 5, 6, 7, 8, 9];
const DC_CODES = [0b00, 0b010, 0b011, 0b100, 0b101, 0b110, 0b1110, 0b11110, 0b111110, 0b1111110, 0xfe, 0x1fe];
/** The AC table has one code, a single 0 bit: end of block. */
const AC_COUNTS = [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const END_OF_BLOCK_BITS = 1;

const marker = (code: number, ...data: number[]): Buffer =>
  Buffer.from([0xff, code, (data.length + 2) >> 8, (data.length + 2) & 0xff, ...data]);

/** Writes bits, the first one highest, with the zero byte that follows each FF. */
const createBits = (capacityBytes: number) => {
  const bytes = Buffer.alloc(capacityBytes);
  let length = 0;
  let pending = 0;
  let count = 0;
  const put = (value: number, bits: number): void => {
    pending = (pending << bits) | value;
    count += bits;
    while (count >= 8) {
      count -= 8;
      const byte = (pending >> count) & 0xff;
      bytes[length++] = byte;
      if (byte === 0xff) bytes[length++] = 0;
    }
    pending &= (1 << count) - 1;
  };
  const finish = (): Buffer => {
    if (count > 0) put((1 << (8 - count)) - 1, 8 - count);
    return bytes.subarray(0, length);
  };
  return { put, finish };
};

const toYCbCr = ([red, green, blue]: Colour): [number, number, number] => [
  Math.round(0.299 * red + 0.587 * green + 0.114 * blue) - 128,
  Math.round(-0.168736 * red - 0.331264 * green + 0.5 * blue),
  Math.round(0.5 * red - 0.418688 * green - 0.081312 * blue),
];

/**
 * Baseline JPEG (ITU-T T.81), three components, no subsampling. Every 8×8 block has one colour, so only its DC
 * coefficient is written; with the quantiser 8 that coefficient is the level itself.
 */
export const encodeJpeg = (picture: Picture): Buffer => {
  const { width, height } = picture;
  const columns = Math.ceil(width / BLOCK);
  const rows = Math.ceil(height / BLOCK);
  const bits = createBits(columns * rows * 12 + 16);
  const previous = [0, 0, 0];
  for (let row = 0; row < rows; row += 1) {
    const levels = toYCbCr(rowColour(picture, Math.min(row * BLOCK + BLOCK / 2, height - 1)));
    for (let column = 0; column < columns; column += 1) {
      for (const [component, level] of levels.entries()) {
        const difference = level - (previous[component] ?? 0);
        previous[component] = level;
        const category = difference === 0 ? 0 : 32 - Math.clz32(Math.abs(difference));
        bits.put(DC_CODES[category] ?? 0, DC_LENGTHS[category] ?? 0);
        if (category > 0) bits.put(difference > 0 ? difference : difference + (1 << category) - 1, category);
        bits.put(0, END_OF_BLOCK_BITS);
      }
    }
  }
  const size = [height >> 8, height & 0xff, width >> 8, width & 0xff];
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    marker(0xe0, ...Buffer.from('JFIF\0'), 1, 1, 0, 0, 1, 0, 1, 0, 0),
    marker(0xdb, 0, 8, ...new Array<number>(63).fill(1)),
    marker(0xc0, 8, ...size, 3, 1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0),
    marker(0xc4, 0x00, ...DC_COUNTS, ...DC_VALUES),
    marker(0xc4, 0x10, ...AC_COUNTS, 0),
    marker(0xda, 3, 1, 0, 2, 0, 3, 0, 0, 63, 0),
    bits.finish(),
    Buffer.from([0xff, 0xd9]),
  ]);
};
