import type { MediaSource } from './parts.ts';

/** The first bytes of the media types that callers forget to name, as base64 begins with them. */
const SIGNATURES: readonly (readonly [prefix: string, mediaType: string])[] = [
  ['iVBORw0KGgo', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
  ['JVBERi', 'application/pdf'],
];

/** Names that are in use and registered nowhere. Upstreams refuse them. */
const MISNOMERS: ReadonlyMap<string, string> = new Map([
  ['image/jpg', 'image/jpeg'],
  ['image/pjpeg', 'image/jpeg'],
  ['image/x-png', 'image/png'],
]);

/** A media type as upstreams know it. */
export function mediaTypeOf(written: string): string {
  const type = written.trim().toLowerCase();
  return MISNOMERS.get(type) ?? type;
}

const sniff = (data: string): string =>
  SIGNATURES.find(([prefix]) => data.startsWith(prefix))?.[1] ?? 'application/octet-stream';

/** `data:` `[mediatype]` `[;parameters]` `;base64` `,`; the marker's case and further parameters do not matter (RFC 2397). */
const HEAD = /^data:([^;,]*)((?:;[^;,]*)*),/i;

/**
 * Reads an address as it is in `image_url` or `file_data`: a data URL becomes its bytes in base64, anything with
 * a scheme stays an address. Null where it is neither, bare base64 for example.
 */
export function readAddress(address: string): MediaSource | null {
  if (!/^data:/i.test(address)) {
    return /^https?:\/\//i.test(address) ? { type: 'url', url: address } : null;
  }
  const head = HEAD.exec(address);
  if (head === null) return null;
  const rest = address.slice(head[0].length);
  const inBase64 = /;base64\s*(;|$)/i.test(head[2] ?? '');
  const data = inBase64 ? rest.replace(/\s+/g, '') : percentDecodedBase64(rest);
  if (data === null) return null;
  const mediaType = mediaTypeOf(head[1] ?? '');
  return { type: 'base64', mediaType: mediaType === '' ? sniff(data) : mediaType, data };
}

function percentDecodedBase64(text: string): string | null {
  try {
    return Buffer.from(decodeURIComponent(text), 'utf8').toString('base64');
  } catch {
    return null;
  }
}

export const toDataUrl = (mediaType: string, data: string): string => `data:${mediaType};base64,${data}`;
