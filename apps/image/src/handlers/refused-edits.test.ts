import { request as httpRequest } from 'node:http';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { fileOf, jpegBytes, pngBytes, pngFile } from '../testing/image-files.ts';
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
const newest = ['model', 'gpt-image-2.5'] as const;
const prompt = ['prompt', 'a hat'] as const;

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
    'a markup beside a mask',
    [newest, prompt, ['image', pngFile()], ['mask', pngFile()], ['markup', pngFile()]],
    [400, 'mutually_exclusive_parameters', 'markup'],
  ],
  [
    'a markup of another size',
    [newest, prompt, ['image', pngFile()], ['markup', pngFile({ width: 9 })]],
    [400, 'invalid_image_format', 'markup'],
  ],
  [
    'a markup that is no PNG with alpha',
    [newest, prompt, ['image', pngFile()], ['markup', pngFile({ hasAlpha: false, alpha: 255 })]],
    [400, 'invalid_image_format', 'markup'],
  ],
  [
    'a markup for a model before it',
    [model, prompt, ['image', pngFile()], ['markup', pngFile()]],
    [400, 'unknown_parameter', 'markup'],
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

test('the error for a body that is no form names what to send', async () => {
  const headers = { ...image.headersFor(), 'content-type': 'text/plain' };
  const reply = await fetch(`${image.url}/v1/images/edits`, {
    method: 'POST',
    headers,
    body: '{"images":[]}',
  });
  expect(reply.status).toBe(400);
  expect(await reply.json()).toMatchObject({
    error: {
      code: 'unsupported_content_type',
      message: expect.stringContaining("'multipart/form-data' or 'application/json'"),
    },
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
