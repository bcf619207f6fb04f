import { PNG } from 'pngjs';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { fileOf, jpegBytes, pngBytes, pngFile, webpBytes } from '../testing/image-files.ts';
import { startImage, type TestImage } from '../testing/start-image.ts';

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

test('a DALL·E edit gets a URL by default and base64 when it is requested', async () => {
  const parts = [['model', 'dall-e-2'], prompt, ['image', pngFile()]] as const;
  const hosted = await (await image.edit(parts)).json();
  expect(hosted).toMatchObject({ data: [{ url: expect.stringContaining('/v1/images/assets/') }] });
  const inline = await (await image.edit([...parts, ['response_format', 'b64_json']])).json();
  expect(inline).toMatchObject({ data: [{ b64_json: expect.any(String) }] });
  const forms = await Promise.all(image.simulator.requests.map((request) => request.form()));
  expect(forms.map((form) => form.getAll('response_format'))).toEqual([['b64_json'], ['b64_json']]);
});

test('parts may come in any order, under any of the names that images have', async () => {
  for (const [name, mask] of [
    ['image', 'mask'],
    ['image[]', 'mask[]'],
    ['image[0]', 'mask[0]'],
  ] as const) {
    image.reset();
    const reply = await image.edit([[mask, pngFile()], [name, pngFile()], [name, pngFile()], prompt, model]);
    expect(reply.status).toBe(200);
    const form = await (await image.simulator.nextRequest()).form();
    expect(form.getAll('image[]')).toHaveLength(2);
    expect(form.get('mask')).toBeInstanceOf(File);
  }
});

test('images are known by their bytes, whatever their names and types are', async () => {
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

test('a markup travels as it is, and is named where the upstream does not have it', async () => {
  const markup = pngBytes({ alpha: 9 });
  const send = async (name: string, headers: Record<string, string> = {}) => {
    image.reset();
    const parts = [
      ['model', name],
      prompt,
      ['image', pngFile()],
      ['markup', fileOf(markup, 'm.png')],
    ] as const;
    const reply = await image.edit(parts, { headers: { ...image.headersFor(), ...headers } });
    return [reply.status, reply.headers.get('x-gateway-dropped')];
  };
  const received = async () => (await (await image.simulator.nextRequest()).form()).get('markup');
  expect(await send('gpt-image-2.5')).toEqual([200, null]);
  const file = await received();
  expect(file).toMatchObject({ name: 'm.png', type: 'image/png' });
  expect(file instanceof File && Buffer.from(await file.arrayBuffer())).toEqual(markup);
  expect(await send('named-freely')).toEqual([200, 'markup']);
  expect(await received()).toBeNull();
  expect(await send('named-freely', { 'x-gateway-strict': 'true' })).toEqual([400, null]);
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
  const replying = image.edit([model, prompt, ['image', pngFile()]], { signal: caller.signal });
  const sent = await image.simulator.nextRequest();
  expect(await image.uploaded()).toHaveLength(1);
  caller.abort();
  await expect(replying).rejects.toThrow();
  expect(await sent.closed).toBe('aborted');
});

test('48 MB travel through whole', async () => {
  const bytes = Buffer.concat([pngBytes(), Buffer.alloc(48 * 1024 * 1024)]);
  const reply = await image.edit([model, prompt, ['image', fileOf(bytes)]]);
  expect(reply.status).toBe(200);
  const file = (await (await image.simulator.nextRequest()).form()).get('image');
  expect(file instanceof File && file.size).toBe(bytes.length);
});
