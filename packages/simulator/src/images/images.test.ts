import { createHash } from 'node:crypto';
import { inflateSync } from 'node:zlib';
import OpenAI, { toFile } from 'openai';
import { expect, test } from 'vitest';
import { collect } from '../collect.ts';
import { type Simulator, startSimulator } from '../start-simulator.ts';
import { encodeJpeg } from './drawing/encode-jpeg.ts';
import { encodePng } from './drawing/encode-png.ts';
import { encodeWebp } from './drawing/encode-webp.ts';
import { pictureOf, rowColour } from './drawing/picture.ts';
import { readImageHeader } from './image-header.ts';

const clientOf = ({ baseUrl }: Simulator) =>
  new OpenAI({ baseURL: baseUrl, apiKey: 'sk-test', maxRetries: 0 });
const bytesOf = (base64: string | undefined) => Buffer.from(base64 ?? '', 'base64');
const png = (width: number, height: number, alpha = 255) =>
  encodePng(pictureOf('upload', width, height, alpha));

/** The pixels of a PNG that this simulator wrote: one IDAT chunk, every row filtered by Sub. */
const decodePng = (bytes: Buffer, channels: number): Buffer[] => {
  const header = readImageHeader(bytes);
  const start = bytes.indexOf('IDAT');
  const rows = inflateSync(bytes.subarray(start + 4, start + 4 + bytes.readUInt32BE(start - 4)));
  const rowBytes = rows.length / (header?.height ?? 0);
  return Array.from({ length: header?.height ?? 0 }, (_, row) => {
    const pixels = Buffer.from(rows.subarray(row * rowBytes + 1, (row + 1) * rowBytes));
    for (let index = channels; index < pixels.length; index += 1) {
      pixels[index] = ((pixels[index] ?? 0) + (pixels[index - channels] ?? 0)) & 0xff;
    }
    return pixels;
  });
};

test('a PNG decodes to the gradient that was drawn', () => {
  const picture = pictureOf('a cat', 33, 20, 128);
  const rows = decodePng(encodePng(picture), 4);
  expect(rows).toHaveLength(20);
  for (const [row, pixels] of rows.entries()) {
    expect(pixels).toHaveLength(33 * 4);
    expect([...pixels.subarray(-4)]).toEqual([...rowColour(picture, row), 128]);
  }
});

// ffmpeg 5.1 decoded exactly these bytes to 1000×333 and the right colours (and alpha); the digests hold them still.
test.for([
  ['image/jpeg', encodeJpeg, 255, '277102b0ea6239ff32b300a95d078b8ca9bac9e8e8f0a1b36db67699fb5077bf'],
  ['image/webp', encodeWebp, 255, '77887337623f2dc34051dacf80d43c5ead148ab2db3f8468baf3c9e8de38e919'],
  ['image/webp', encodeWebp, 64, '6710b06091a31562c25a2463375e2dc4c052e8e6cce9c024afcc76c1eb74e233'],
] as const)('an independent decoder has read these %s bytes', ([type, encode, alpha, digest]) => {
  const bytes = encode(pictureOf('a cat 0', 1000, 333, alpha));
  expect(readImageHeader(bytes)).toEqual({ type, width: 1000, height: 333, hasAlpha: alpha < 255 });
  expect(createHash('sha256').update(bytes).digest('hex')).toBe(digest);
});

test.for(['png', 'jpeg', 'webp'] as const)('GPT Image answers %s as base64 with usage', async (format) => {
  await using simulator = await startSimulator();
  const result = await clientOf(simulator).images.generate({
    model: 'gpt-image-2',
    prompt: 'a cat',
    size: '1536x1024',
    output_format: format,
    n: 2,
  });
  expect(result).toMatchObject({
    output_format: format,
    size: '1536x1024',
    usage: { input_tokens: 2, output_tokens: 3168 },
  });
  const [first, second] = result.data ?? [];
  expect(readImageHeader(bytesOf(first?.b64_json))).toMatchObject({
    type: `image/${format}`,
    width: 1536,
    height: 1024,
  });
  expect(second?.b64_json).not.toBe(first?.b64_json);
  expect(simulator.ledger()['gpt-image-2']).toMatchObject({ images: 2, outputTokens: 3168 });
});

test('DALL·E answers URLs that the simulator serves, or base64 on request', async () => {
  await using simulator = await startSimulator();
  const client = clientOf(simulator);
  const hosted = await client.images.generate({
    model: 'dall-e-3',
    prompt: 'a cat',
    size: '1792x1024',
    style: 'natural',
  });
  const [entry] = hosted.data ?? [];
  expect(entry?.revised_prompt).toContain('a cat');
  const file = await fetch(entry?.url ?? '');
  expect(file.headers.get('content-type')).toBe('image/png');
  expect(readImageHeader(Buffer.from(await file.arrayBuffer()))).toMatchObject({ width: 1792, height: 1024 });
  const inline = await client.images.generate({
    model: 'dall-e-2',
    prompt: 'a cat',
    size: '256x256',
    response_format: 'b64_json',
  });
  expect(readImageHeader(bytesOf(inline.data?.[0]?.b64_json))).toMatchObject({ width: 256 });
});

test('partial images come before the completed one', async () => {
  await using simulator = await startSimulator();
  const stream = await clientOf(simulator).images.generate({
    model: 'gpt-image-1',
    prompt: 'a cat',
    stream: true,
    partial_images: 2,
  });
  const events = await collect(stream);
  expect(events.map(({ type }) => type)).toEqual([
    'image_generation.partial_image',
    'image_generation.partial_image',
    'image_generation.completed',
  ]);
});

test('the recorded request of an edit has its files', async () => {
  await using simulator = await startSimulator();
  const images = [
    await toFile(png(64, 64), 'one.png'),
    await toFile(encodeJpeg(pictureOf('x', 64, 64)), 'two.jpg'),
  ];
  const result = await clientOf(simulator).images.edit({
    model: 'gpt-image-1',
    image: images,
    mask: await toFile(png(64, 64, 0), 'mask.png'),
    prompt: 'a hat',
  });
  expect(result.usage?.input_tokens_details.image_tokens).toBe(646);
  const request = await simulator.nextRequest(({ path }) => path === '/v1/images/edits');
  const form = await request.form();
  expect(form.getAll('image[]').map((part) => part instanceof File && part.name)).toEqual([
    'one.png',
    'two.jpg',
  ]);
  expect(form.get('prompt')).toBe('a hat');
});

test.for([
  ['no image', { prompt: 'x', model: 'gpt-image-1' }, {}, 'missing_required_parameter'],
  [
    'a GIF',
    { prompt: 'x', model: 'gpt-image-1' },
    { image: Buffer.from('GIF89a\x40\0\x40\0\0\0\0\0') },
    'unsupported_file_mimetype',
  ],
  [
    'no image at all in the file',
    { prompt: 'x', model: 'gpt-image-1' },
    { image: Buffer.from('hello') },
    'invalid_image_file',
  ],
  [
    'an opaque mask',
    { prompt: 'x', model: 'gpt-image-1' },
    { image: png(64, 64), mask: png(64, 64) },
    'invalid_mask_image_format',
  ],
  [
    'a mask of another size',
    { prompt: 'x', model: 'gpt-image-1' },
    { image: png(64, 64), mask: png(32, 32, 0) },
    'invalid_image_format',
  ],
  [
    'a picture that is not square',
    { prompt: 'x', model: 'dall-e-2' },
    { image: png(64, 32) },
    'invalid_image_format',
  ],
  ['a model without edits', { prompt: 'x', model: 'dall-e-3' }, { image: png(64, 64) }, 'invalid_value'],
] as const)('an edit with %s is refused', async ([_name, fields, files, code]) => {
  await using simulator = await startSimulator();
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  for (const [name, bytes] of Object.entries(files))
    form.set(name, new Blob([new Uint8Array(bytes)]), 'blob');
  const response = await fetch(`${simulator.baseUrl}/images/edits`, {
    method: 'POST',
    headers: { authorization: 'Bearer k' },
    body: form,
  });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { code } });
});

test.for([
  [{ model: 'dall-e-3' }, 'missing_required_parameter', 'prompt'],
  [{ model: 'dall-e-3', prompt: 'x', n: 2 }, 'invalid_value', 'n'],
  [{ model: 'dall-e-3', prompt: 'x', size: '256x256' }, 'invalid_value', 'size'],
  [{ model: 'dall-e-3', prompt: 'x'.repeat(4001) }, 'string_above_max_length', 'prompt'],
  [{ model: 'dall-e-2', prompt: 'x', style: 'vivid' }, 'unknown_parameter', 'style'],
  [{ model: 'gpt-image-1', prompt: 'x', response_format: 'url' }, 'unknown_parameter', 'response_format'],
  [{ model: 'gpt-image-1', prompt: 'x', size: '512x512' }, 'invalid_value', 'size'],
  [{ model: 'gpt-image-1', prompt: 'x', quality: 'hd' }, 'invalid_value', 'quality'],
] as const)('%j is refused with %s', async ([body, code, param]) => {
  await using simulator = await startSimulator();
  const response = await fetch(`${simulator.baseUrl}/images/generations`, {
    method: 'POST',
    headers: { authorization: 'Bearer k', 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { code, param } });
});
