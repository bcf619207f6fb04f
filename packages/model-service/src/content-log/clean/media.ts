import { createHash } from 'node:crypto';

/** Shorter ones are ids and hashes, and cost nothing to write. */
const MIN_BASE64_CHARACTERS = 1024;
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;
const DATA_URL =
  /data:([\w.+-]{1,64}\/[\w.+-]{1,64})(?:;[\w-]{1,32}=[\w-]{1,64}){0,4};base64,([A-Za-z0-9+/_=-]{64,})/g;

const DIGEST_CHARACTERS = 16;
const BASE64_BITS = 6;
const BYTE_BITS = 8;

/** Pictures, sound and sealed texts are not logged: what they were is. */
export function withoutMedia(text: string): string {
  if (text.length < MIN_BASE64_CHARACTERS && !text.includes(';base64,')) return text;
  if (text.length >= MIN_BASE64_CHARACTERS && BASE64.test(text)) return described('base64', text);
  return text.includes(';base64,')
    ? text.replaceAll(DATA_URL, (_, type: string, data: string) => described(type, data))
    : text;
}

function described(type: string, data: string): string {
  const sizeBytes = Math.floor((data.replace(/=+$/, '').length * BASE64_BITS) / BYTE_BITS);
  const digest = createHash('sha256').update(Buffer.from(data, 'base64')).digest('hex');
  return `[${type}, ${sizeBytes} bytes, sha256 ${digest.slice(0, DIGEST_CHARACTERS)}]`;
}
