import { once } from 'node:events';
import { readdir, readFile, rm } from 'node:fs/promises';
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { waitFor } from '@gateway/testkit/wait-for';
import express from 'express';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { FilePart, FormRules } from './form-rules.ts';
import { type ReceivedForm, readForm } from './read-form.ts';

const part = (name: string, most: number, names?: RegExp): FilePart => ({
  name,
  ...(names && { names }),
  most,
  maxBytes: 1000,
  tooMany: { code: 'invalid_value', message: `too many ${name}`, path: [name] },
  tooLarge: { code: 'file_too_large', message: `too large ${name}`, path: [name] },
});
const RULES: FormRules = {
  parts: [part('image', 3, /^image(?:\[\])?$/), part('mask', 1)],
  fields: 4,
  fieldNameBytes: 20,
  fieldBytes: 100,
  fieldsTotalBytes: 150,
  tooLarge: { code: 'request_too_large', message: 'too large a form' },
  whereFilesGo: "Send files in 'image'.",
  alsoTakes: 'application/json',
};

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
const server = createServer();
const outcomes: (ReceivedForm | GatewayError)[] = [];
let url: string;

beforeAll(async () => {
  folder = await temporaryFolder();
  let lastId = 0;
  const uploads = {
    newId: () => {
      lastId += 1;
      return `upload_${lastId}`;
    },
    pathOf: (id: string) => join(folder.path, id),
    delete: async (...ids: string[]) => {
      await Promise.all(ids.map((id) => rm(join(folder.path, id), { force: true })));
    },
  };
  const discardRest = (request: IncomingMessage) => void request.resume();
  const app = express();
  app.post('/', async (request, response) => {
    try {
      outcomes.push(await readForm(request, response, { rules: RULES, uploads, discardRest }));
      response.end();
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      outcomes.push(error);
      response.status(error.status('openai')).end();
    }
  });
  server.on('request', app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}/`;
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await folder.close();
});
beforeEach(async () => {
  outcomes.length = 0;
  for (const name of await readdir(folder.path)) await rm(join(folder.path, name));
});

const file = (sizeBytes: number, name = 'a.png') => new File([Buffer.alloc(sizeBytes, 'x')], name);
const nothingLeft = () => waitFor(async () => (await readdir(folder.path)).length === 0);

async function post(parts: readonly (readonly [string, string | File])[]) {
  const body = new FormData();
  for (const [name, value] of parts) body.append(name, value);
  await fetch(url, { method: 'POST', body });
  return outcomes[0];
}

test('parts come in any order, files are in the order of their arrival', async () => {
  const form = await post([
    ['image[]', file(900, 'first.png')],
    ['prompt', 'a hat'],
    ['mask', file(1, 'mask.png')],
    ['image', file(0, 'second.png')],
    ['prompt', ''],
  ]);
  if (form === undefined || form instanceof GatewayError) throw new Error('was refused');
  expect(form.fields).toEqual([
    ['prompt', 'a hat'],
    ['prompt', ''],
  ]);
  expect(form.files.map(({ part: of, fileName, sizeBytes }) => [of, fileName, sizeBytes])).toEqual([
    ['image', 'first.png', 900],
    ['mask', 'mask.png', 1],
    ['image', 'second.png', 0],
  ]);
  expect((await readFile(join(folder.path, form.files[0]?.uploadId ?? ''))).length).toBe(900);
});

test.for<[string, Parameters<typeof post>[0], object]>([
  ['too large a file', [['mask', file(1001)]], { code: 'file_too_large', options: { path: ['mask'] } }],
  [
    'too many files of one part',
    [
      ['image', file(1)],
      ['mask', file(1)],
      ['mask', file(1)],
    ],
    { message: 'too many mask' },
  ],
  [
    'a file under another name',
    [
      ['image', file(1)],
      ['video', file(1)],
    ],
    { code: 'unknown_parameter', options: { path: ['video'] } },
  ],
  [
    'too many fields',
    ['a', 'b', 'c', 'd', 'e'].map((name) => [name, '1'] as const),
    { code: 'request_too_large' },
  ],
  [
    'too long a field',
    [
      ['image', file(1)],
      ['a', 'x'.repeat(101)],
    ],
    { code: 'request_too_large' },
  ],
  [
    'too much text, counted in bytes',
    [
      ['image', file(1)],
      ['a', 'é'.repeat(49)],
      ['b', 'é'.repeat(49)],
    ],
    { code: 'request_too_large' },
  ],
])('%s is refused, and no file remains', async ([, parts, refusal]) => {
  expect(await post(parts)).toMatchObject(refusal);
  await nothingLeft();
});

test.for<[string, Record<string, string>, object]>([
  ['a declared length above all bounds', { 'content-length': '1000000' }, { code: 'request_too_large' }],
  [
    'a body that is not a form',
    { 'content-type': 'application/json' },
    {
      code: 'unsupported_content_type',
      message: expect.stringMatching(/takes .multipart\/form-data. or .application\/json.\.$/),
    },
  ],
])('%s is refused before the body arrives', async ([, headers, refusal]) => {
  const sending = httpRequest(url, {
    method: 'POST',
    headers: { 'content-type': 'multipart/form-data; boundary=b', ...headers },
  });
  sending.on('error', () => undefined).flushHeaders();
  await waitFor(() => outcomes.length === 1);
  expect(outcomes[0]).toMatchObject(refusal);
  sending.destroy();
});

const begin = (bytes: number) => {
  const sending = httpRequest(url, {
    method: 'POST',
    headers: { 'content-type': 'multipart/form-data; boundary=b' },
  });
  sending.on('error', () => undefined);
  sending.write('--b\r\ncontent-disposition: form-data; name="image"; filename="a.png"\r\n\r\n');
  sending.write(Buffer.alloc(bytes));
  return sending;
};

test('too large a file is refused and removed while the rest of it is still to come', async () => {
  const sending = begin(5000);
  await waitFor(() => outcomes.length === 1);
  expect(outcomes[0]).toMatchObject({ code: 'file_too_large', message: 'too large image' });
  await nothingLeft();
  sending.destroy();
});

test('a caller who leaves in the middle leaves no file', async () => {
  const sending = begin(100);
  await waitFor(async () => (await readdir(folder.path)).length === 1);
  sending.destroy();
  await nothingLeft();
  await waitFor(() => outcomes.length === 1);
  expect(outcomes[0]).toMatchObject({ code: 'client_closed_request' });
});

test('a form that ends too early is refused, and no file stays', async () => {
  begin(100).end();
  await waitFor(() => outcomes.length === 1);
  expect(outcomes[0]).toMatchObject({ code: 'malformed_request' });
  await nothingLeft();
});

/** A form with one part whose head and body are written byte by byte. */
async function postRaw(head: string, body: Uint8Array | string = 'a hat', boundary = 'b', around = '') {
  const bytes = Buffer.concat([
    Buffer.from(`${around}--${boundary}\r\n${head}\r\n\r\n`, 'latin1'),
    Buffer.from(body),
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ]);
  const headers = { 'content-type': `multipart/form-data; boundary="${boundary}"` };
  outcomes.length = 0;
  await fetch(url, { method: 'POST', body: bytes, headers });
  return { outcome: outcomes[0], bytes, headers };
}
const PROMPT = 'Content-Disposition: form-data; name="prompt"';

test.for<[string, string]>([
  ['another charset', 'text/plain; charset=utf-16'],
  ['Latin-1', 'text/plain;CHARSET = ISO-8859-1'],
  ['an unknown charset', 'text/plain; charset=constructor'],
  ['a charset that is an encoding', 'text/plain; charset="base64"'],
  ['a charset on a line of its own', 'text/plain;\r\n charset=utf-7'],
  ['no charset at all', 'text/plain; charset='],
])('a text part that says it is in %s is taken where it is plain ASCII', async ([, type]) => {
  for (const head of [`${PROMPT}\r\nContent-Type: ${type}`, `content-type: ${type}\r\n${PROMPT}`])
    expect((await postRaw(head)).outcome).toEqual({ fields: [['prompt', 'a hat']], files: [] });
});

test.for<[string, string, Buffer]>([
  ['Latin-1', 'iso-8859-1', Buffer.from('h\u00fct', 'latin1')],
  ["Windows' own", 'windows-1252', Buffer.from('h\u00fct', 'latin1')],
  ['UTF-16', 'utf-16le', Buffer.from('h\u00fct', 'utf16le')],
])('a text part in %s is decoded', async ([, charset, bytes]) => {
  const head = `${PROMPT}\r\nContent-Type: text/plain; charset=${charset}`;
  expect((await postRaw(head, bytes)).outcome).toEqual({ fields: [['prompt', 'h\u00fct']], files: [] });
});

test('a text part in a charset that nobody knows is refused by its name', async () => {
  const head = `${PROMPT}\r\nContent-Type: text/plain; charset=klingon`;
  expect((await postRaw(head, Buffer.from([0xe4]))).outcome).toMatchObject({
    code: 'unsupported_content_type',
    message: "Unsupported charset of a text part: 'klingon'. Send the form in UTF-8.",
  });
});

test.for(['----a=b', 'a/b:c', "(a)+,'b'?"])(
  'a boundary with signs that need quotes is read without them: %s',
  async (boundary) => {
    const body = Buffer.from(`--${boundary}\r\n${PROMPT}\r\n\r\na hat\r\n--${boundary}--\r\n`);
    for (const type of [
      `multipart/form-data; boundary=${boundary}`,
      `multipart/form-data; charset=utf-8; boundary=${boundary}`,
    ]) {
      outcomes.length = 0;
      await fetch(url, { method: 'POST', body, headers: { 'content-type': type } });
      expect(outcomes[0]).toEqual({ fields: [['prompt', 'a hat']], files: [] });
    }
  },
);

test.for<[string, string, Uint8Array | string, string]>([
  ['no type', PROMPT, 'ä𝄞\ufffd', 'ä𝄞\ufffd'],
  ['a type without a charset', `${PROMPT}\r\nContent-Type: text/plain`, 'ä', 'ä'],
  ['UTF-8', `${PROMPT}\r\nContent-Type: text/plain; charset=UTF-8`, 'Ã©\ufffd', 'Ã©\ufffd'],
  ['UTF-8 in quotes', `${PROMPT}\r\nContent-Type: text/plain; charset="utf8"`, 'ä', 'ä'],
  ['ASCII', `${PROMPT}\r\nContent-Type: text/plain; charset=us-ascii`, 'a', 'a'],
  ['nothing', PROMPT, '', ''],
])('a text part with %s is read as UTF-8', async ([, head, body, text]) => {
  expect((await postRaw(head, body)).outcome).toEqual({ fields: [['prompt', text]], files: [] });
});

test.for<[string, string]>([
  ['no type', PROMPT],
  ['UTF-8 for its charset', `${PROMPT}\r\nContent-Type: text/plain; charset=utf-8`],
  ['ASCII for its charset', `${PROMPT}\r\nContent-Type: text/plain; charset=ascii`],
])('bytes that are not UTF-8 are refused in a text part with %s', async ([, head]) => {
  for (const body of [Buffer.from([0x61, 0xff]), Buffer.from([0xc3]), Buffer.from([0xed, 0xa0, 0x80])])
    expect((await postRaw(head, body)).outcome).toMatchObject({
      code: 'malformed_request',
      options: { path: ['prompt'] },
      message: "The text part 'prompt' is not UTF-8. Send the form in UTF-8.",
    });
});

test('a form may declare UTF-8, and no other charset', async () => {
  const fields = (charset: string) =>
    post([
      ['_charset_', charset],
      ['prompt', 'ä'],
    ]);
  expect(await fields('UTF-8')).toEqual({ fields: [['prompt', 'ä']], files: [] });
  for (const charset of ['utf-16', 'iso-8859-1', '', 'constructor']) {
    outcomes.length = 0;
    expect(await fields(charset)).toMatchObject({
      code: 'malformed_request',
      options: { path: ['_charset_'] },
    });
  }
});

test('the charset of a file does not count; that of its name does', async () => {
  const image = 'Content-Disposition: form-data; name="image"';
  const typed = `${image}; filename="a.png"\r\nContent-Type: text/plain; charset=utf-16`;
  expect((await postRaw(typed)).outcome).toMatchObject({ files: [{ part: 'image', fileName: 'a.png' }] });
  outcomes.length = 0;
  const extended = `${image}; filename="a.png"; filename*=UTF-8''%C3%A4.png`;
  expect((await postRaw(extended)).outcome).toMatchObject({ files: [{ fileName: 'ä.png' }] });
  outcomes.length = 0;
  expect((await postRaw(`${image}; filename*=utf-7''a.png`)).outcome).toMatchObject({
    code: 'unsupported_content_type',
    message: "Unsupported charset of the name of a part or of a file: 'utf-7'. Send the form in UTF-8.",
  });
});

test.for(['audio/wav', 'application/octet-stream', 'image/png; charset=binary'])(
  'a part of the type %s is a file, although it has no name',
  async (type) => {
    const head = `Content-Disposition: form-data; name="image"\r\nContent-Type: ${type}`;
    expect((await postRaw(head, Buffer.from([0xff, 0xd8, 0xff]))).outcome).toMatchObject({
      files: [{ part: 'image', fileName: 'blob', sizeBytes: 3 }],
    });
  },
);

test('a form is read the same however it is cut', async () => {
  const { bytes, headers, outcome } = await postRaw(
    `${PROMPT}\r\nContent-Type: text/plain; charset=utf-8`,
    '\r\n--\r\n\r\n--ab\r\n-- ä',
    'ab-c',
    'before\r\n',
  );
  expect(outcome).toEqual({ fields: [['prompt', '\r\n--\r\n\r\n--ab\r\n-- ä']], files: [] });
  for (let cut = 1; cut < bytes.length; cut += 1) {
    outcomes.length = 0;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        controller.enqueue(new Uint8Array(bytes.subarray(0, cut)));
        setImmediate(() => {
          controller.enqueue(new Uint8Array(bytes.subarray(cut)));
          controller.close();
        });
      },
    });
    await fetch(url, { method: 'POST', body, headers, duplex: 'half' });
    expect(outcomes[0]).toEqual(outcome);
  }
});
