import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { decodeBase64 } from './base64.ts';

async function decoded(text: string, partLength: number): Promise<Buffer> {
  async function* parts() {
    for (let at = 0; at < text.length; at += partLength) yield Buffer.from(text.slice(at, at + partLength));
  }
  const bytes: Buffer[] = [];
  for await (const part of decodeBase64(parts())) bytes.push(part);
  return Buffer.concat(bytes);
}

test('base64 in parts of any length gives the same bytes', async () => {
  for (const sizeBytes of [0, 1, 2, 3, 1000]) {
    const bytes = randomBytes(sizeBytes);
    const text = bytes.toString('base64');
    for (const form of [text, text.replaceAll(/(.{10})/g, '$1\r\n'), bytes.toString('base64url')])
      for (const length of [1, 3, 4, 5, 777]) expect((await decoded(form, length)).equals(bytes)).toBe(true);
  }
});
