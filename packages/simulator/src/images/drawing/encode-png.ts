import { crc32, deflateSync } from 'node:zlib';
import { type Picture, rowColour } from './picture.ts';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const FILTER_SUB = 1;
const COLOUR_TYPE_RGB = 2;
const COLOUR_TYPE_RGBA = 6;

const chunk = (type: string, data: Uint8Array): Buffer => {
  const bytes = Buffer.alloc(data.length + 12);
  bytes.writeUInt32BE(data.length, 0);
  bytes.write(type, 4, 'latin1');
  bytes.set(data, 8);
  bytes.writeUInt32BE(crc32(bytes.subarray(4, data.length + 8)), data.length + 8);
  return bytes;
};

/** PNG (RFC 2083). With the Sub filter a row of one colour is that colour and zeros. */
export const encodePng = (picture: Picture): Buffer => {
  const { width, height, alpha } = picture;
  const isOpaque = alpha === 255;
  const channels = isOpaque ? 3 : 4;
  const rowBytes = 1 + width * channels;
  const rows = Buffer.alloc(rowBytes * height);
  for (let row = 0; row < height; row += 1) {
    rows.set([FILTER_SUB, ...rowColour(picture, row)], row * rowBytes);
    if (!isOpaque) rows[row * rowBytes + channels] = alpha;
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, isOpaque ? COLOUR_TYPE_RGB : COLOUR_TYPE_RGBA, 0, 0, 0], 8);
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(rows, { level: 1 })),
    chunk('IEND', new Uint8Array()),
  ]);
};
