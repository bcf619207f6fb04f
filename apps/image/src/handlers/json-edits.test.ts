import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { startSquid } from '@gateway/testkit/start-squid';
import { DIRECT, environmentNetwork } from '@gateway/upstream/connecting/network';
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { formValues } from '../form/edit-form.ts';
import { jpegBytes, pngBytes } from '../testing/image-files.ts';
import { startImage, type TestImage } from '../testing/start-image.ts';

const PNG = pngBytes();
const MASK = pngBytes({ alpha: 0 });

/** What the server of the callers' images answers, by path. */
const FILES: Readonly<Record<string, RequestListener>> = {
  '/a.png': (_, response) => response.end(PNG),
  '/a.png?made': (_, response) => response.end(PNG),
  '/mask.png': (_, response) => response.end(MASK),
  '/text': (_, response) => response.end('hello'),
  '/large': (_, response) => response.writeHead(200, { 'content-length': '60000000' }).write('x'),
  '/endless': (_, response) => {
    const more = () => {
      while (response.write(Buffer.alloc(1_000_000)));
    };
    response.on('drain', more);
    more();
  },
  '/broken': (_, response) => {
    response.writeHead(200, { 'content-length': '1000' }).write('x', () => response.destroy());
  },
  '/silent': () => undefined,
  '/away': (_, response) => response.writeHead(302, { location: 'http://127.0.0.1:9/a.png' }).end(),
  '/moved': (_, response) => response.writeHead(302, { location: '/a.png' }).end(),
};

let image: TestImage;
let files: { readonly origin: string; readonly headers: string[]; close(): void };
beforeAll(async () => {
  files = await startFiles();
  // What is too large must not be too slow as well, on a busy machine.
  image = await startImage({
    fetching: { privateOrigins: [files.origin], timeoutMs: 50_000, network: () => DIRECT },
  });
  await image.startWorker();
});
beforeEach(() => image.reset());
// Whatever happens to a request, its files are gone afterwards.
afterEach(() => image.nothingLeft());
afterAll(async () => {
  await image.close();
  files.close();
});

async function startFiles() {
  const headers: string[] = [];
  const server = createServer((request, response) => {
    headers.push(JSON.stringify(request.headers));
    const handler = FILES[request.url ?? ''];
    if (handler) handler(request, response);
    else response.writeHead(404).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('not listening');
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { origin: `http://127.0.0.1:${address.port}`, headers, close };
}

const edit = (body: unknown, headers: Record<string, string> = {}, service = image) =>
  fetch(`${service.url}/v1/images/edits`, {
    method: 'POST',
    headers: { ...service.headersFor(), 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
const requested = { model: 'gpt-image-1.5', prompt: 'a hat' };
const dataUrl = (bytes: Buffer, type = 'image/png') => `data:${type};base64,${bytes.toString('base64')}`;
const at = (path: string) => ({ image_url: `${files.origin}${path}` });

test('images and a mask named by URL and as data URLs travel as files, with all other members', async () => {
  const reply = await edit({
    ...requested,
    images: [at('/a.png'), at('/moved'), { image_url: dataUrl(jpegBytes(), 'image/png') }],
    mask: at('/mask.png'),
    n: 2,
    quality: 'high',
    user: null,
    brand_new: { deep: [1] },
  });
  expect(reply.status).toBe(200);
  expect(await reply.json()).toMatchObject({
    data: [{ b64_json: expect.any(String) }, { b64_json: expect.any(String) }],
  });
  const form = await (await image.simulator.nextRequest()).form();
  expect([...form.keys()].toSorted()).toEqual([
    'brand_new',
    'image[]',
    'image[]',
    'image[]',
    'mask',
    'model',
    'n',
    'prompt',
    'quality',
  ]);
  expect(form.getAll('image[]')).toMatchObject([
    { name: 'image.png', type: 'image/png', size: PNG.length },
    { name: 'image.png', size: PNG.length },
    { name: 'image.jpeg', type: 'image/jpeg', size: jpegBytes().length },
  ]);
  expect(form.get('brand_new')).toBe('{"deep":[1]}');
  const mask = form.get('mask');
  expect(mask instanceof File && Buffer.from(await mask.arrayBuffer())).toEqual(MASK);
  expect(files.headers.join()).not.toContain('x-gateway-identity');
  expect(await image.lastLine()).toMatchObject({ model: 'gpt-image-1.5', inputImages: 4, status: 200 });
});

const SVG = { model: 'x', reasoning: { effort: 'low' } } as const;
const SVG_FIELDS = [
  ['svg[model]', 'x'],
  ['svg[reasoning][effort]', 'low'],
];
const asked = { model: 'gpt-image-2.5', prompt: 'a hat' };

test('who draws an SVG is a part of the form for each member, from JSON and from the official client', async () => {
  const reply = await edit({ ...asked, svg: SVG, images: [{ image_url: dataUrl(PNG) }] });
  expect(reply.status).toBe(200);
  const file = new File([PNG], 'a.png', { type: 'image/png' });
  await image.client.images.edit({ ...asked, svg: SVG, image: file });
  for (let count = 0; count < 2; count += 1) {
    const form = await (await image.simulator.nextRequest()).form();
    expect([...form].filter(([name]) => name.startsWith('svg'))).toEqual(SVG_FIELDS);
  }
});

test('a form whose images only the provider has becomes JSON with the object that its parts name', () => {
  expect(
    formValues([
      ['svg[model]', 'x'],
      ['svg[__proto__][effort]', 'low'],
      ['n', '2'],
      ['new[a]', 'b'],
    ]),
  ).toEqual({
    svg: { model: 'x', ['__proto__']: { effort: 'low' } },
    n: 2,
    'new[a]': 'b',
  });
});

test('a model that draws no SVG refuses who should draw it, in a form as in JSON', async () => {
  const body = new FormData();
  for (const [name, value] of [
    ['model', 'dall-e-2'],
    ['prompt', 'a hat'],
    ['svg[model]', 'x'],
  ] as const)
    body.append(name, value);
  body.append('image', new File([PNG], 'a.png', { type: 'image/png' }));
  const headers = image.headersFor();
  const reply = await fetch(`${image.url}/v1/images/edits`, { method: 'POST', headers, body });
  expect(reply.status).toBe(400);
  expect(await reply.json()).toMatchObject({ error: { code: 'unknown_parameter', param: 'svg' } });
});

test("a file that the provider has goes there by its id, beside images of the caller's own, in JSON", async () => {
  const reply = await edit({
    ...requested,
    images: [{ file_id: 'file-abc' }, at('/a.png')],
    mask: { file_id: 'file-mask' },
    n: 1,
    svg: { model: 'x' },
  });
  expect(reply.status).toBe(200);
  const sent = await image.simulator.nextRequest();
  expect(sent.headers['content-type']).toBe('application/json');
  expect(JSON.parse(sent.body.toString())).toEqual({
    ...requested,
    images: [{ file_id: 'file-abc' }, { image_url: dataUrl(PNG) }],
    mask: { file_id: 'file-mask' },
    n: 1,
    svg: { model: 'x' },
  });
});

test.for([{ image_url: dataUrl(PNG) }, { file_id: 'file-markup' }])(
  'JSON names a markup as it names images: %o',
  async (markup) => {
    const reply = await edit({ model: 'gpt-image-2.5', prompt: 'a hat', images: [at('/a.png')], markup });
    expect(reply.status).toBe(200);
    const sent = await image.simulator.nextRequest();
    if ('file_id' in markup) expect(JSON.parse(sent.body.toString())).toMatchObject({ markup });
    else expect((await sent.form()).get('markup')).toMatchObject({ type: 'image/png', size: PNG.length });
  },
);

test('a JSON edit may be streamed', async () => {
  const reply = await edit({ ...requested, images: [at('/a.png')], stream: true });
  expect(reply.headers.get('content-type')).toContain('text/event-stream');
  expect(await reply.text()).toContain('image_edit.completed');
});

test('a mask that only the provider has cannot be turned over for a route that means the opposite', async () => {
  const images = [at('/a.png')];
  const reply = await edit({ ...requested, model: 'keeps-transparent', images, mask: { file_id: 'file-1' } });
  expect(reply.status).toBe(400);
  expect(await reply.json()).toMatchObject({
    error: { code: 'unsupported_parameter', param: 'mask.file_id' },
  });
  expect(image.simulator.requests).toHaveLength(0);
});

/** One row per mistake: the members beside model and prompt, then status, code, param and words of the refusal. */
const REFUSED: readonly (readonly [
  title: string,
  members: () => Record<string, unknown>,
  refusal: readonly [status: number, code: string | null, param: string | null, words?: RegExp],
])[] = [
  ['no images', () => ({}), [400, 'missing_required_parameter', 'images']],
  ['an empty list', () => ({ images: [] }), [400, 'array_below_min_length', 'images']],
  [
    'seventeen images',
    () => ({ images: Array(17).fill(at('/a.png')) }),
    [400, 'array_above_max_length', 'images'],
  ],
  [
    "more images than the model's family takes",
    () => ({ model: 'dall-e-2', images: [at('/a.png'), at('/a.png')] }),
    [400, 'array_above_max_length', 'images'],
  ],
  ['an image of nothing', () => ({ images: [{}] }), [400, 'missing_required_parameter', 'images[0]']],
  [
    'an image named twice',
    () => ({ images: [{ ...at('/a.png'), file_id: 'file-1' }] }),
    [400, 'mutually_exclusive_parameters', 'images[0]'],
  ],
  [
    "a form's member",
    () => ({ image: dataUrl(PNG), images: [at('/a.png')] }),
    [400, 'unknown_parameter', 'image'],
  ],
  [
    'a data URL that is not base64',
    () => ({ images: [{ image_url: 'data:image/png,abc' }] }),
    [400, 'invalid_value', 'images[0].image_url', /base64/],
  ],
  [
    'a data URL of something else',
    () => ({ images: [{ image_url: dataUrl(Buffer.from('hello')) }] }),
    [400, 'unsupported_file_mimetype', 'images[0].image_url'],
  ],
  [
    'an empty data URL',
    () => ({ images: [{ image_url: 'data:image/png;base64,' }] }),
    [400, 'invalid_image_file', 'images[0].image_url'],
  ],
  [
    'a mask without alpha',
    () => ({ images: [at('/a.png')], mask: { image_url: dataUrl(pngBytes({ hasAlpha: false })) } }),
    [400, 'invalid_mask_image_format', 'mask.image_url'],
  ],
  [
    'a URL that leads to no image',
    () => ({ images: [at('/a.png'), at('/text')] }),
    [400, 'unsupported_file_mimetype', 'images[1].image_url'],
  ],
  [
    'a URL that leads nowhere',
    () => ({ images: [at('/none')] }),
    [400, 'invalid_value', 'images[0].image_url', /answered 404/],
  ],
  [
    'a server that sends too much',
    () => ({ images: [at('/large')] }),
    [413, 'file_too_large', 'images[0].image_url'],
  ],
  [
    'a server that sends too much',
    () => ({ images: [at('/endless')] }),
    [413, 'file_too_large', 'images[0].image_url'],
  ],
  [
    'a server that breaks off',
    () => ({ images: [at('/broken')] }),
    [400, 'invalid_value', 'images[0].image_url', /cannot be reached/],
  ],
  [
    'a redirect to a private address',
    () => ({ images: [at('/away')] }),
    [400, 'invalid_value', 'images[0].image_url', /not public/],
  ],
  ...[
    'http://127.0.0.1:9/a.png',
    'http://localhost:9/a.png',
    'http://[::1]:9/a.png',
    'http://169.254.169.254/latest/meta-data/',
    'http://10.255.255.1/a.png',
  ].map(
    (url) =>
      [
        url,
        () => ({ images: [{ image_url: url }] }),
        [400, 'invalid_value', 'images[0].image_url', /could not be fetched: its address is not public/],
      ] as const,
  ),
  [
    'a file of the machine',
    () => ({ images: [{ image_url: 'file:///etc/passwd' }] }),
    [400, 'invalid_value', 'images[0].image_url', /begins with file:/],
  ],
  [
    'a prompt that is missing',
    () => ({ prompt: undefined, images: [at('/a.png')] }),
    [400, 'missing_required_parameter', 'prompt'],
  ],
];

test.for(REFUSED)(
  'refused, and nothing is sent or stays: %s',
  async ([, members, [status, code, param, words]]) => {
    const reply = await edit({ ...requested, ...members() });
    expect(await reply.json()).toMatchObject({
      error: { code, param, ...(words && { message: expect.stringMatching(words) }) },
    });
    expect(reply.status).toBe(status);
    expect(image.simulator.requests).toHaveLength(0);
  },
);

test('a server that sends nothing is a 400', async () => {
  const impatient = await startImage({
    fetching: { privateOrigins: [files.origin], timeoutMs: 100, network: () => DIRECT },
  });
  onTestFinished(() => impatient.close());
  const reply = await edit({ ...requested, images: [at('/silent')] }, {}, impatient);
  expect(await reply.json()).toMatchObject({
    error: {
      code: 'invalid_value',
      param: 'images[0].image_url',
      message: expect.stringContaining('too long'),
    },
  });
  expect(reply.status).toBe(400);
  await impatient.nothingLeft();
});

test('an edit in JSON beyond its bound is a 413', async () => {
  const reply = await edit({ ...requested, images: [{ image_url: dataUrl(Buffer.alloc(4_000_000)) }] });
  expect(reply.status).toBe(413);
});

test('a caller who leaves while an image is fetched leaves no file', async () => {
  const caller = new AbortController();
  const before = files.headers.length;
  const replying = fetch(`${image.url}/v1/images/edits`, {
    method: 'POST',
    headers: { ...image.headersFor(), 'content-type': 'application/json' },
    body: JSON.stringify({ ...requested, images: [at('/a.png'), at('/silent')] }),
    signal: caller.signal,
  });
  await expect.poll(() => files.headers.length).toBe(before + 2);
  caller.abort();
  await expect(replying).rejects.toThrow();
});

test("behind a company's proxy a caller's image, the request for the edit and the image that the provider names go by it", async () => {
  await using squid = await startSquid(['files.test', 'provider.test']);
  const network = environmentNetwork({ HTTP_PROXY: squid.url });
  const provider = (url: string) => url.replace('127.0.0.1', 'provider.test');
  const behind = await startImage({
    fetching: { privateOrigins: [], timeoutMs: 50_000, network: () => network },
    configuration: (url) => `
channels:
  one: { provider: simulator, baseUrl: "${provider(url)}", apiKey: sk-one, proxy: "${squid.url}" }
models:
  "gpt-image-*": { kind: image, routes: [{ channel: one }] }`,
  });
  onTestFinished(() => behind.close());
  await behind.startWorker();
  const shown = files.origin.replace('127.0.0.1', 'files.test');
  behind.simulator.script('/v1/images/edits', {
    json: { created: 1, data: [{ url: `${shown}/a.png?made` }] },
  });
  const reply = await edit({ ...requested, images: [{ image_url: `${shown}/moved` }] }, {}, behind);
  expect(await reply.json()).toMatchObject({ data: [{ b64_json: PNG.toString('base64') }] });
  const served = (await squid.served()).filter((line) => line.includes('.test'));
  expect(served).toEqual([
    `GET 302 ${shown}/moved`,
    `GET 200 ${shown}/a.png`,
    `POST 200 ${provider(behind.simulator.url)}/v1/images/edits`,
    `GET 200 ${shown}/a.png?`,
  ]);
});

test('a large edit is neither parsed nor written in the event loop, and repeated by its content', async () => {
  const large = dataUrl(Buffer.concat([PNG, Buffer.alloc(600_000)]));
  const key = { 'idempotency-key': 'a-large-edit' };
  const body = (prompt: string) =>
    `{"images":[{"image_url":"${large}"}],"model":"gpt-image-1.5","prompt":"${prompt}"}`;
  const [parse, stringify] = [vi.spyOn(JSON, 'parse'), vi.spyOn(JSON, 'stringify')];
  const longest = () =>
    Math.max(
      ...parse.mock.calls.map(([text]) => text.length),
      ...stringify.mock.results.map(({ value }) => String(value ?? '').length),
    );
  expect((await edit(body('a hat'), key)).status).toBe(200);
  expect(longest()).toBeLessThan(large.length / 2);
  vi.restoreAllMocks();
  // Its members in another order.
  const again = { prompt: 'a hat', model: 'gpt-image-1.5', images: [{ image_url: large }] };
  expect((await edit(again, key)).status).toBe(200);
  expect((await edit(body('a cap'), key)).status).toBe(422);
  expect(image.simulator.requests).toHaveLength(1);
});
