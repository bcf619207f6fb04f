import { encodeJpeg } from './encode-jpeg.ts';
import { encodePng } from './encode-png.ts';
import { encodeWebp } from './encode-webp.ts';
import { pictureOf } from './picture.ts';

const ENCODERS = { png: encodePng, jpeg: encodeJpeg, webp: encodeWebp };
const TRANSPARENT_ALPHA = 64;
const MAX_CACHED = 64;
const cache = new Map<string, Buffer>();

export interface Drawing {
  readonly text: string;
  readonly width: number;
  readonly height: number;
  readonly format: keyof typeof ENCODERS;
  readonly isTransparent: boolean;
}

/** An image file of the requested size and format, the same for the same text. */
export const draw = ({ text, width, height, format, isTransparent }: Drawing): Buffer => {
  const key = JSON.stringify([text, width, height, format, isTransparent]);
  const cached = cache.get(key);
  if (cached) return cached;
  const alpha = isTransparent ? TRANSPARENT_ALPHA : 255;
  const bytes = ENCODERS[format](pictureOf(text, width, height, alpha));
  if (cache.size >= MAX_CACHED) cache.clear();
  cache.set(key, bytes);
  return bytes;
};
