import type { EncodingFormat } from '@gateway/contracts/openai/embeddings';
import type { Vector } from './forms/embeddings-form.ts';

const FLOAT_BYTES = 4;

/** A vector as its caller wants it. In base64 it is 32-bit floats, the lowest byte first, one right after the other. */
export function encodedVector(vector: Vector, wanted: EncodingFormat): Vector {
  if (wanted === 'base64') return typeof vector === 'string' ? vector : toBase64(vector);
  return typeof vector === 'string' ? fromBase64(vector) : vector;
}

function toBase64(numbers: readonly number[]): string {
  const bytes = Buffer.allocUnsafe(numbers.length * FLOAT_BYTES);
  for (const [at, number] of numbers.entries()) bytes.writeFloatLE(number, at * FLOAT_BYTES);
  return bytes.toString('base64');
}

function fromBase64(text: string): number[] {
  const bytes = Buffer.from(text, 'base64');
  return Array.from({ length: Math.floor(bytes.length / FLOAT_BYTES) }, (_, at) =>
    bytes.readFloatLE(at * FLOAT_BYTES),
  );
}
