import { PNG } from 'pngjs';

interface PngOptions {
  readonly width?: number;
  readonly height?: number;
  /** Of every pixel; 255 with `opaque` files has no alpha channel. */
  readonly alpha?: number;
  readonly hasAlpha?: boolean;
}

/** A PNG of one grey, with or without an alpha channel. */
export function pngBytes({ width = 8, height = 8, alpha = 0, hasAlpha = true }: PngOptions = {}): Buffer {
  const image = new PNG({ width, height });
  for (let index = 0; index < image.data.length; index += 4) image.data.set([90, 90, 90, alpha], index);
  return PNG.sync.write(image, { colorType: hasAlpha ? 6 : 2 });
}

export const fileOf = (bytes: Uint8Array, name = 'image.png', type = 'application/octet-stream'): File =>
  new File([new Uint8Array(bytes)], name, { type });

export const pngFile = (options: PngOptions & { name?: string } = {}): File =>
  fileOf(pngBytes(options), options.name);

/** The first bytes of a JPEG with an EXIF segment before its frame, and nothing after it. */
export function jpegBytes(width = 8, height = 8): Buffer {
  const frame = Buffer.from([0xff, 0xc0, 0, 11, 8, 0, 0, 0, 0, 1, 1, 0x11, 0]);
  frame.writeUInt16BE(height, 5);
  frame.writeUInt16BE(width, 7);
  const exif = Buffer.concat([Buffer.from([0xff, 0xe1, 0x40, 0x02]), Buffer.alloc(0x4000)]);
  return Buffer.concat([Buffer.from([0xff, 0xd8]), exif, frame, Buffer.from([0xff, 0xd9])]);
}

/** The first bytes of an extended WebP. */
export function webpBytes(width = 8, height = 8): Buffer {
  const bytes = Buffer.alloc(30);
  bytes.write('RIFF', 0, 'latin1');
  bytes.writeUInt32LE(22, 4);
  bytes.write('WEBPVP8X', 8, 'latin1');
  bytes.writeUInt32LE(10, 16);
  bytes.writeUIntLE(width - 1, 24, 3);
  bytes.writeUIntLE(height - 1, 27, 3);
  return bytes;
}
