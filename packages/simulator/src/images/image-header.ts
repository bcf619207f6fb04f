export interface ImageHeader {
  readonly type: 'image/png' | 'image/jpeg' | 'image/webp' | 'image/gif';
  readonly width: number;
  readonly height: number;
  readonly hasAlpha: boolean;
}

const readPng = (bytes: Buffer): ImageHeader | null => {
  if (bytes.length < 29 || bytes.toString('latin1', 12, 16) !== 'IHDR') return null;
  const colourType = bytes.readUInt8(25);
  const hasAlpha = colourType === 4 || colourType === 6 || bytes.includes('tRNS');
  return { type: 'image/png', width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20), hasAlpha };
};

/** Frame headers of JPEG: SOF0–SOF15 without the three codes in that range that mean something else. */
const isFrameMarker = (code: number): boolean =>
  code >= 0xc0 && code <= 0xcf && code !== 0xc4 && code !== 0xc8 && code !== 0xcc;

const readJpeg = (bytes: Buffer): ImageHeader | null => {
  let position = 2;
  while (position + 9 < bytes.length && bytes[position] === 0xff) {
    const code = bytes.readUInt8(position + 1);
    if (isFrameMarker(code)) {
      const height = bytes.readUInt16BE(position + 5);
      return { type: 'image/jpeg', width: bytes.readUInt16BE(position + 7), height, hasAlpha: false };
    }
    position += 2 + bytes.readUInt16BE(position + 2);
  }
  return null;
};

const readWebp = (bytes: Buffer): ImageHeader | null => {
  if (bytes.length < 30) return null;
  const type = 'image/webp';
  const kind = bytes.toString('latin1', 12, 16);
  if (kind === 'VP8X') {
    const hasAlpha = (bytes.readUInt8(20) & 0x10) !== 0;
    return { type, width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1, hasAlpha };
  }
  if (kind === 'VP8L') {
    const packed = bytes.readUInt32LE(21);
    const hasAlpha = ((packed >>> 28) & 1) === 1;
    return { type, width: (packed & 0x3fff) + 1, height: ((packed >>> 14) & 0x3fff) + 1, hasAlpha };
  }
  if (kind !== 'VP8 ') return null;
  return {
    type,
    width: bytes.readUInt16LE(26) & 0x3fff,
    height: bytes.readUInt16LE(28) & 0x3fff,
    hasAlpha: false,
  };
};

const readGif = (bytes: Buffer): ImageHeader | null =>
  bytes.length < 10
    ? null
    : { type: 'image/gif', width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8), hasAlpha: false };

const READERS: readonly { magic: string; at: number; read: (bytes: Buffer) => ImageHeader | null }[] = [
  { magic: '\x89PNG\r\n\x1a\n', at: 0, read: readPng },
  { magic: '\xff\xd8\xff', at: 0, read: readJpeg },
  { magic: 'WEBP', at: 8, read: readWebp },
  { magic: 'GIF8', at: 0, read: readGif },
];

/** An image's type and size, from its first bytes; null if the type is unknown or the bytes are cut off. */
export const readImageHeader = (bytes: Buffer): ImageHeader | null => {
  const found = READERS.find(({ magic, at }) => bytes.toString('latin1', at, at + magic.length) === magic);
  return found?.read(bytes) ?? null;
};
