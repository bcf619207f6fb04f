import { request as httpRequest } from 'node:http';
import { waitFor } from '@gateway/testkit/wait-for';
import { PNG } from 'pngjs';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { fileOf, jpegBytes, pngBytes, pngFile, webpBytes } from './testing/image-files.ts';
import { startImage, type TestImage } from './testing/start-image.ts';

let image: TestImage;
beforeAll(async () => {
  image = await startImage();
  await image.startWorker();
});
beforeEach(() => image.reset());
// Whatever happens to a request, its files are gone afterwards.
afterEach(() => image.nothingLeft());
afterAll(() => image.close());

const model = ['model', 'gpt-image-1.5'] as const;
const prompt = ['prompt', 'a hat'] as const;

test('an edit travels with its files and text, and comes back as the model is used to', async () => {
  const reply = await image.client.images.edit({
    model: 'gpt-image-1.5',
    image: [pngFile({ name: 'one.png' }), pngFile({ name: 'two.png', width: 9 })],
    mask: pngFile({ name: 'mask.png', alpha: 0 }),
    prompt: 'a hat',
    n: 2,
    size: '1024x1024',
  });
  expect(reply.data).toHaveLength(2);
  expect(reply.data?.[0]?.b64_json).toBeTruthy();
  const form = await (await image.simulator.nextRequest()).form();
  expect([...form.keys()].toSorted()).toEqual(['image[]', 'image[]', 'mask', 'model', 'n', 'prompt', 'size']);
  const [one, two] = form.getAll('image[]');
  expect(one).toMatchObject({ name: 'one.png', type: 'image/png', size: pngBytes().length });
  expect(two).toMatchObject({ name: 'two.png', size: pngBytes({ width: 9 }).length });
  const mask = form.get('mask');
  expect(mask instanceof File && Buffer.from(await mask.arrayBuffer())).toEqual(pngBytes({ alpha: 0 }));
});

test('a DALL·E edit gets a URL by default and base64 when it asks for it', async () => {
  const parts = [['model', 'dall-e-2'], prompt, ['image', pngFile()]] as const;
  const hosted = await (await image.edit(parts)).json();
  expect(hosted).toMatchObject({ data: [{ url: expect.stringContaining('/v1/images/assets/') }] });
  const inline = await (await image.edit([...parts, ['response_format', 'b64_json']])).json();
  expect(inline).toMatchObject({ data: [{ b64_json: expect.any(String) }] });
  const forms = await Promise.all(image.simulator.requests.map((request) => request.form()));
  expect(forms.map((form) => form.getAll('response_format'))).toEqual([['b64_json'], ['b64_json']]);
});

test('parts may come in any order, under any of the names that images have', async () => {
  for (const name of ['image', 'image[]', 'image[0]']) {
    image.reset();
    const reply = await image.edit([
      ['mask', pngFile()],
      [name, pngFile()],
      [name, pngFile()],
      prompt,
      model,
    ]);
    expect(reply.status).toBe(200);
    const form = await (await image.simulator.nextRequest()).form();
    expect(form.getAll('image[]')).toHaveLength(2);
    expect(form.get('mask')).toBeInstanceOf(File);
  }
});

test('images are known by their bytes, whatever their names and types say', async () => {
  const reply = await image.edit([
    ['image', fileOf(jpegBytes(), 'blob', 'application/octet-stream')],
    ['image', fileOf(webpBytes(), 'picture.png', 'image/png')],
    prompt,
    model,
  ]);
  expect(reply.status).toBe(200);
  const form = await (await image.simulator.nextRequest()).form();
  expect(form.getAll('image[]')).toMatchObject([
    { name: 'blob.jpeg', type: 'image/jpeg' },
    { name: 'picture.png.webp', type: 'image/webp' },
  ]);
});

test('empty optional parts are as good as none, unknown ones travel on', async () => {
  const reply = await image.edit([
    model,
    prompt,
    ['size', ''],
    ['user', ''],
    ['brand_new', 'x'],
    ['image', pngFile()],
  ]);
  expect(reply.status).toBe(200);
  const form = await (await image.simulator.nextRequest()).form();
  expect([...form.keys()].toSorted()).toEqual(['brand_new', 'image', 'model', 'prompt']);
});

test('a route that keeps what is transparent gets the mask with its alpha inverted', async () => {
  const original = pngBytes({ alpha: 0 });
  const reply = await image.edit([
    ['model', 'keeps-transparent'],
    prompt,
    ['image', pngFile()],
    ['mask', fileOf(original)],
  ]);
  expect(reply.status).toBe(200);
  const mask = (await (await image.simulator.nextRequest()).form()).get('mask');
  if (!(mask instanceof File)) throw new Error('no mask');
  const { data } = PNG.sync.read(Buffer.from(await mask.arrayBuffer()));
  const alphas = new Set(data.filter((_, index) => index % 4 === 3));
  expect([...alphas]).toEqual([255]);
  expect([...data.subarray(0, 3)]).toEqual([90, 90, 90]);
});

/** One row per mistake: its parts, then status, code and param of the refusal. */
const REFUSED: readonly (readonly [
  title: string,
  parts: readonly (readonly [string, string | File])[],
  refusal: readonly [status: number, code: string | null, param: string | null],
])[] = [
  ['no image', [model, prompt], [400, 'missing_required_parameter', 'image']],
  [
    'an image that is a text',
    [model, prompt, ['image', 'aGVsbG8=']],
    [400, 'missing_required_parameter', 'image'],
  ],
  ['no prompt', [model, ['image', pngFile()]], [400, 'missing_required_parameter', 'prompt']],
  [
    'an empty prompt',
    [model, ['prompt', ''], ['image', pngFile()]],
    [400, 'missing_required_parameter', 'prompt'],
  ],
  ['no model', [prompt, ['image', pngFile()]], [400, 'missing_required_parameter', 'model']],
  ['an unknown model', [['model', 'nope'], prompt, ['image', pngFile()]], [404, 'model_not_found', 'model']],
  [
    'a text model',
    [['model', 'chat-model'], prompt, ['image', pngFile()]],
    [400, 'unsupported_model', 'model'],
  ],
  ['n as words', [model, prompt, ['image', pngFile()], ['n', 'two']], [400, 'invalid_type', 'n']],
  ['n of zero', [model, prompt, ['image', pngFile()], ['n', '0']], [400, 'integer_below_min_value', 'n']],
  [
    'too many images to make',
    [model, prompt, ['image', pngFile()], ['n', '11']],
    [400, 'integer_above_max_value', 'n'],
  ],
  ['half an image to make', [model, prompt, ['image', pngFile()], ['n', '1.5']], [400, 'invalid_type', 'n']],
  [
    'a size of another family',
    [['model', 'dall-e-2'], prompt, ['image', pngFile()], ['size', '1792x1024']],
    [400, 'invalid_value', 'size'],
  ],
  [
    'a bad response_format',
    [model, prompt, ['image', pngFile()], ['response_format', 'hex']],
    [400, 'invalid_value', 'response_format'],
  ],
  ['a style', [model, prompt, ['image', pngFile()], ['style', 'vivid']], [400, 'unknown_parameter', 'style']],
  [
    'a GIF',
    [model, prompt, ['image', fileOf(Buffer.from('GIF89a......'), 'a.png', 'image/png')]],
    [400, 'unsupported_file_mimetype', 'image'],
  ],
  [
    'a text file called PNG',
    [model, prompt, ['image', fileOf(Buffer.from('hello'), 'a.png', 'image/png')]],
    [400, 'unsupported_file_mimetype', 'image'],
  ],
  [
    'an empty file',
    [model, prompt, ['image', fileOf(Buffer.alloc(0))]],
    [400, 'invalid_image_file', 'image'],
  ],
  [
    'half a PNG header',
    [model, prompt, ['image', fileOf(pngBytes().subarray(0, 20))]],
    [400, 'invalid_image_file', 'image'],
  ],
  [
    'a JPEG without a frame',
    [model, prompt, ['image', fileOf(jpegBytes().subarray(0, 100))]],
    [400, 'invalid_image_file', 'image'],
  ],
  [
    'a mask of another size',
    [model, prompt, ['image', pngFile()], ['mask', pngFile({ width: 9 })]],
    [400, 'invalid_image_format', 'mask'],
  ],
  [
    'a mask without alpha',
    [model, prompt, ['image', pngFile()], ['mask', pngFile({ hasAlpha: false, alpha: 255 })]],
    [400, 'invalid_mask_image_format', 'mask'],
  ],
  [
    'a mask that is no PNG',
    [model, prompt, ['image', pngFile()], ['mask', fileOf(jpegBytes())]],
    [400, 'invalid_mask_image_format', 'mask'],
  ],
  [
    'two masks',
    [model, prompt, ['image', pngFile()], ['mask', pngFile()], ['mask', pngFile()]],
    [400, 'invalid_value', 'mask'],
  ],
  [
    'too large a mask',
    [model, prompt, ['image', pngFile()], ['mask', fileOf(Buffer.alloc(4 * 1024 * 1024 + 1))]],
    [413, 'file_too_large', 'mask'],
  ],
  [
    '17 images',
    [model, prompt, ...Array.from({ length: 17 }, () => ['image[]', pngFile()] as const)],
    [400, 'array_above_max_length', 'image'],
  ],
  [
    '18 images',
    [model, prompt, ...Array.from({ length: 18 }, () => ['image[]', pngFile()] as const)],
    [400, 'array_above_max_length', 'image'],
  ],
  [
    'two images for DALL·E 2',
    [['model', 'dall-e-2'], prompt, ['image', pngFile()], ['image', pngFile()]],
    [400, 'array_above_max_length', 'image'],
  ],
  [
    'an unknown file',
    [model, prompt, ['image', pngFile()], ['video', pngFile()]],
    [400, 'unknown_parameter', 'video'],
  ],
  [
    '65 fields',
    [
      model,
      prompt,
      ['image', pngFile()],
      ...Array.from({ length: 64 }, (_, index) => [`x${index}`, '1'] as const),
    ],
    [413, 'request_too_large', null],
  ],
  [
    'too long a text',
    [model, ['prompt', 'x'.repeat(300_000)], ['image', pngFile()]],
    [413, 'request_too_large', null],
  ],
];

test.each(REFUSED)('%s is refused, and no file stays', async (_title, parts, [status, code, param]) => {
  const reply = await image.edit(parts);
  const body: unknown = await reply.json();
  expect({ status: reply.status, body }).toMatchObject({ status, body: { error: { code, param } } });
  await image.nothingLeft();
  expect(image.simulator.requests).toHaveLength(0);
});

test('an image beyond 50 MB is refused while it is still being sent, and no file stays', async () => {
  const reply = await image.edit([model, prompt, ['image', fileOf(Buffer.alloc(52 * 1024 * 1024))]]);
  expect(reply.status).toBe(413);
  expect(await reply.json()).toMatchObject({ error: { code: 'file_too_large', param: 'image' } });
});

test('a body that is no form is told what to send', async () => {
  const headers = { ...image.headersFor(), 'content-type': 'application/json' };
  const reply = await fetch(`${image.url}/v1/images/edits`, {
    method: 'POST',
    headers,
    body: '{"images":[]}',
  });
  expect(reply.status).toBe(400);
  expect(await reply.json()).toMatchObject({
    error: { code: 'unsupported_content_type', message: expect.stringContaining('multipart/form-data') },
  });
});

test('a form that ends too early is refused, and no file stays', async () => {
  const reply = await fetch(`${image.url}/v1/images/edits`, {
    method: 'POST',
    headers: { ...image.headersFor(), 'content-type': 'multipart/form-data; boundary=b' },
    body: '--b\r\ncontent-disposition: form-data; name="image"; filename="a.png"\r\n\r\nabc',
  });
  expect(reply.status).toBe(400);
  expect(await reply.json()).toMatchObject({ error: { type: 'invalid_request_error' } });
});

test('a caller who leaves in the middle of the upload leaves no file', async () => {
  const sending = httpRequest(`${image.url}/v1/images/edits`, {
    method: 'POST',
    headers: { ...image.headersFor(), 'content-type': 'multipart/form-data; boundary=b' },
  });
  sending.on('error', () => undefined);
  sending.write('--b\r\ncontent-disposition: form-data; name="image"; filename="a.png"\r\n\r\n');
  sending.write(Buffer.alloc(1_000_000));
  await waitFor(async () => (await image.uploaded()).length === 1);
  sending.destroy();
  await image.nothingLeft();
});

test('a streamed edit passes straight through, and leaves no file', async () => {
  const stream = await image.client.images.edit({
    model: 'gpt-image-1.5',
    image: pngFile(),
    mask: pngFile(),
    prompt: 'a hat',
    stream: true,
    partial_images: 1,
  });
  const types: string[] = [];
  for await (const event of stream) types.push(event.type);
  expect(types).toEqual(['image_edit.partial_image', 'image_edit.completed']);
  const form = await (await image.simulator.nextRequest()).form();
  expect(form.get('stream')).toBe('true');
});

test("the upstream's refusal of an edit comes through", async () => {
  const reply = await image.edit([['model', 'dall-e-3'], prompt, ['image', pngFile()]]);
  expect(reply.status).toBe(400);
  expect(await reply.json()).toMatchObject({ error: { code: 'invalid_value', param: 'model' } });
});

test('a caller who leaves a running edit ends it, and its files are deleted', async () => {
  const gate = Promise.withResolvers<void>();
  image.simulator.script('/v1/images/edits', { gate: gate.promise });
  const caller = new AbortController();
  const asked = image.edit([model, prompt, ['image', pngFile()]], { signal: caller.signal });
  const sent = await image.simulator.nextRequest();
  expect(await image.uploaded()).toHaveLength(1);
  caller.abort();
  await expect(asked).rejects.toThrow();
  expect(await sent.closed).toBe('aborted');
});

test('48 MB travel through whole', async () => {
  const bytes = Buffer.concat([pngBytes(), Buffer.alloc(48 * 1024 * 1024)]);
  const reply = await image.edit([model, prompt, ['image', fileOf(bytes)]]);
  expect(reply.status).toBe(200);
  const file = (await (await image.simulator.nextRequest()).form()).get('image');
  expect(file instanceof File && file.size).toBe(bytes.length);
});
