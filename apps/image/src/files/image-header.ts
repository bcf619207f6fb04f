import { lookUp } from '@gateway/contracts/look-up';
import { FileBlocks, type OpenFile } from '@gateway/forms/file-blocks';

/** The content types that images have here, by their first bytes. */
export type ImageType =
  | 'image/png'
  | 'image/jpeg'
  | 'image/webp'
  | 'image/gif'
  | 'image/avif'
  | 'image/heic'
  | 'image/jxl'
  | 'image/bmp'
  | 'image/tiff'
  | 'image/svg+xml';

const latin1 = (bytes: Uint8Array, start: number, end: number): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1', start, end);

const MAX_BRAND_BYTES = 256;

/** What a file of boxes says it is: first the brand that fits best, then those that fit as well (ISO/IEC 14496-12, 4.3). */
function brandsOf(bytes: Uint8Array): string[] {
  if (latin1(bytes, 4, 8) !== 'ftyp') return [];
  const end = Math.min(Buffer.from(bytes.subarray(0, 4)).readUInt32BE(), MAX_BRAND_BYTES);
  return latin1(bytes, 8, Math.max(end, 12)).match(/[\s\S]{4}/g) ?? [];
}

const TESTS: readonly (readonly [ImageType, (bytes: Uint8Array) => boolean])[] = [
  ['image/png', (bytes) => latin1(bytes, 0, 8) === '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', (bytes) => latin1(bytes, 0, 3) === '\xff\xd8\xff'],
  ['image/webp', (bytes) => latin1(bytes, 0, 4) === 'RIFF' && latin1(bytes, 8, 12) === 'WEBP'],
  ['image/gif', (bytes) => /^GIF8[79]a/.test(latin1(bytes, 0, 6))],
  ['image/avif', (bytes) => brandsOf(bytes).some((brand) => /^avi[fs]$/.test(brand))],
  ['image/heic', (bytes) => brandsOf(bytes).some((brand) => /^(?:hei[cxms]|hev[cx]|mif1|msf1)$/.test(brand))],
  ['image/jxl', (bytes) => latin1(bytes, 0, 2) === '\xff\n' || latin1(bytes, 4, 8) === 'JXL '],
  ['image/bmp', (bytes) => /^BM[\s\S]{4}\0{4}/.test(latin1(bytes, 0, 10))],
  ['image/tiff', (bytes) => /^(?:II\*\0|MM\0\*)/.test(latin1(bytes, 0, 4))],
  [
    'image/svg+xml',
    (bytes) =>
      /^(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--[\s\S]*?-->\s*)?<svg[\s>]/.test(
        latin1(bytes, 0, 1024),
      ),
  ],
];

/** An image's type, by its content and never by its name. Undefined for any other file. */
export const imageTypeOf = (bytes: Uint8Array): ImageType | undefined =>
  TESTS.find(([, matches]) => matches(bytes))?.[0];

/** The facts in an image's own headers, read without decoding it. */
export interface ImageHeader {
  readonly width: number;
  readonly height: number;
  /** Whether its pixels can be transparent. Only read from PNG; false elsewhere. */
  readonly hasAlpha: boolean;
}

/** More parts than this before the one that counts, and a file is taken for unreadable. */
const MAX_PARTS = 10_000;

/**
 * Width and height are in the first chunk; alpha is the colour type (4 or 6), or a `tRNS` chunk before the pixels.
 * PNG (third edition), 11.2.1 and 11.3.1.
 */
async function pngHeader(file: FileBlocks): Promise<ImageHeader | undefined> {
  const first = await file.bytesAt(8, 18);
  if (first?.toString('latin1', 4, 8) !== 'IHDR') return undefined;
  const [width, height] = [first.readUInt32BE(8), first.readUInt32BE(12)];
  const colourType = first.readUInt8(17);
  let hasAlpha = colourType === 4 || colourType === 6;
  let position = 33;
  for (let part = 0; !hasAlpha && part < MAX_PARTS; part += 1) {
    const head = await file.bytesAt(position, 8);
    const type = head?.toString('latin1', 4, 8);
    if (head === undefined || type === 'IDAT' || type === 'IEND') break;
    hasAlpha = type === 'tRNS';
    position += 12 + head.readUInt32BE(0);
  }
  return { width, height, hasAlpha };
}

/** Markers that begin a frame and so hold its size: all of FFC0 to FFCF but DHT, JPG and DAC (ITU T.81, B.1.1.3). */
const isFrame = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);

async function jpegHeader(file: FileBlocks): Promise<ImageHeader | undefined> {
  let position = 2;
  for (let part = 0; part < MAX_PARTS; part += 1) {
    const head = await file.bytesAt(position, 4);
    if (head === undefined || head.readUInt8(0) !== 0xff) return undefined;
    const marker = head.readUInt8(1);
    if (marker === 0xff) {
      // A fill byte before the marker.
      position += 1;
      continue;
    }
    if (isFrame(marker)) {
      const frame = await file.bytesAt(position + 5, 4);
      return frame && { height: frame.readUInt16BE(0), width: frame.readUInt16BE(2), hasAlpha: false };
    }
    position += 2 + head.readUInt16BE(2);
  }
  return undefined;
}

/** The three forms of WebP: lossy, lossless, extended. RFC 9649, 2.5 to 2.7. */
async function webpHeader(file: FileBlocks): Promise<ImageHeader | undefined> {
  const bytes = await file.bytesAt(12, 18);
  if (bytes === undefined) return undefined;
  const hasAlpha = false;
  switch (bytes.toString('latin1', 0, 4)) {
    case 'VP8 ':
      return { width: bytes.readUInt16LE(14) & 0x3fff, height: bytes.readUInt16LE(16) & 0x3fff, hasAlpha };
    case 'VP8L': {
      const bits = bytes.readUInt32LE(9);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1, hasAlpha };
    }
    case 'VP8X':
      return { width: bytes.readUIntLE(12, 3) + 1, height: bytes.readUIntLE(15, 3) + 1, hasAlpha };
    default:
      return undefined;
  }
}

const READERS: Readonly<Record<string, (file: FileBlocks) => Promise<ImageHeader | undefined>>> = {
  'image/png': pngHeader,
  'image/jpeg': jpegHeader,
  'image/webp': webpHeader,
};

/** The header of an image of this type; undefined where it cannot be read or makes no sense. */
export async function readImageHeader(file: OpenFile, contentType: string): Promise<ImageHeader | undefined> {
  const header = await lookUp(READERS, contentType)?.(new FileBlocks(file, 2 * MAX_PARTS));
  return header !== undefined && header.width > 0 && header.height > 0 ? header : undefined;
}
