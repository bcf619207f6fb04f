import { randomBytes } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { multipartBody } from './multipart-body.ts';

const fileOf = async (content: Buffer) => {
  const path = join(tmpdir(), `multipart-body-${randomBytes(8).toString('hex')}`);
  await writeFile(path, content);
  onTestFinished(() => rm(path));
  return path;
};

test('a form arrives as it was put together, has the length it declares, and can be sent again', async () => {
  const content = randomBytes(300_000);
  const body = multipartBody([
    { name: 'model', value: 'whisper-1' },
    {
      name: 'file',
      path: await fileOf(content),
      fileName: 'a "quoted"\r\nname.wav',
      contentType: 'audio/wav',
      sizeBytes: content.length,
    },
    { name: 'include[]', value: 'é\r\nsecond line' },
  ]);
  for (const attempt of [1, 2]) {
    const bytes = await buffer(body.open());
    expect(bytes.length, `attempt ${attempt}`).toBe(body.sizeBytes);
    const form = await new Response(new Uint8Array(bytes), {
      headers: { 'content-type': body.contentType },
    }).formData();
    expect([...form.keys()]).toEqual(['model', 'file', 'include[]']);
    expect(form.get('include[]')).toBe('é\r\nsecond line');
    const file = form.get('file');
    if (!(file instanceof File)) throw new Error('no file');
    expect(file.name).toBe('a "quoted"\r\nname.wav');
    expect(file.type).toBe('audio/wav');
    expect(Buffer.from(await file.arrayBuffer()).equals(content)).toBe(true);
  }
});
