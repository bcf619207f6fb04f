import { createHash } from 'node:crypto';

/** Words of a text, without their cases and signs. */
export const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

/**
 * A text's vector of length 1, the same for the same text: each of its words points in a direction of its own, so that texts with words
 * in common are near to each other.
 */
export function vectorOf(text: string, dimensions: number): number[] {
  const words = wordsOf(text);
  const vector = new Array<number>(dimensions).fill(0);
  for (const word of words.length === 0 ? [text] : words) addDirection(vector, word);
  const length = Math.hypot(...vector) || 1;
  // As 32-bit floats, so that numbers and base64 are the same vector.
  return vector.map((number) => Math.fround(number / length));
}

const DIGEST_BYTES = 32;

function addDirection(vector: number[], word: string): void {
  let digest = Buffer.alloc(0);
  for (let at = 0; at < vector.length; at += 1) {
    if (at % DIGEST_BYTES === 0) digest = createHash('sha256').update(`${at} ${word}`).digest();
    vector[at] = (vector[at] ?? 0) + ((digest[at % DIGEST_BYTES] ?? 0) - 127.5) / 127.5;
  }
}

/** How near two vectors of length 1 are: 1 for the same direction. */
export const cosine = (one: readonly number[], other: readonly number[]): number =>
  one.reduce((sum, number, at) => sum + number * (other[at] ?? 0), 0);

/** Little-endian 32-bit floats, one right after the other. */
export function base64Of(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * 4);
  for (const [at, number] of vector.entries()) bytes.writeFloatLE(number, at * 4);
  return bytes.toString('base64');
}
