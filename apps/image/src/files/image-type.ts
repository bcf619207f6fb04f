/** The content types that images have here, by their first bytes. */
export type ImageType = 'image/png' | 'image/jpeg' | 'image/webp' | 'image/gif' | 'image/svg+xml';

const latin1 = (bytes: Uint8Array, start: number, end: number): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1', start, end);

const TESTS: readonly (readonly [ImageType, (bytes: Uint8Array) => boolean])[] = [
  ['image/png', (bytes) => latin1(bytes, 0, 8) === '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', (bytes) => latin1(bytes, 0, 3) === '\xff\xd8\xff'],
  ['image/webp', (bytes) => latin1(bytes, 0, 4) === 'RIFF' && latin1(bytes, 8, 12) === 'WEBP'],
  ['image/gif', (bytes) => /^GIF8[79]a/.test(latin1(bytes, 0, 6))],
  [
    'image/svg+xml',
    (bytes) =>
      /^(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--[\s\S]*?-->\s*)?<svg[\s>]/.test(
        latin1(bytes, 0, 1024),
      ),
  ],
];

/** What an image is, by its content and never by its name; undefined for what is none. */
export const imageTypeOf = (bytes: Uint8Array): ImageType | undefined =>
  TESTS.find(([, matches]) => matches(bytes))?.[0];
