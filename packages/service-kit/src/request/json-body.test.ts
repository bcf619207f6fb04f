import { once } from 'node:events';
import { createServer, request as httpRequest, type Server } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { writeError } from '../error-response.ts';
import { readJsonBody } from './json-body.ts';

const MAX_BYTES = 1000;
const MAX_DEPTH = 20;
/** The path of large bodies. */
const LARGE = '/large';
const MAX_LARGE_BYTES = 2_000_000;
let server: Server;
let port = 0;

beforeAll(async () => {
  server = createServer((request, response) => {
    const maxBytes = request.url === LARGE ? MAX_LARGE_BYTES : MAX_BYTES;
    readJsonBody(request, { maxBytes, maxDepth: MAX_DEPTH }).then(
      ({ bytes, value }) => {
        const shown = request.url === LARGE ? Object.keys(Object(value)) : value;
        response.end(JSON.stringify({ sizeBytes: bytes.length, value: shown }));
      },
      (error) =>
        writeError(response, error, { dialect: 'openai', requestId: 'req_test', failure: undefined }),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  port = typeof address === 'object' && address ? address.port : 0;
});
afterAll(() => void server.close());

const JSON_TYPE = { 'content-type': 'application/json' };
const post = async (body: Uint8Array | string, headers: Record<string, string> = JSON_TYPE, path = '/') => {
  const reply = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    body: typeof body === 'string' ? body : new Uint8Array(body),
    headers,
  });
  return { status: reply.status, body: await reply.json() };
};

test.for([
  'application/json',
  'application/json; charset=utf-8',
  'Application/JSON',
  'application/vnd.x+json',
])('a body of type %s is read', async (type) => {
  const text = '{"a":"ä"}';
  expect(await post(text, { 'content-type': type })).toEqual({
    status: 200,
    body: { sizeBytes: Buffer.byteLength(text), value: { a: 'ä' } },
  });
});

test.for([
  ['no content type', Buffer.from('{}'), {}, 400, 'unsupported_content_type'],
  ['a form', '{}', { 'content-type': 'application/x-www-form-urlencoded' }, 400, 'unsupported_content_type'],
  ['gzip', gzipSync('{}'), { ...JSON_TYPE, 'content-encoding': 'gzip' }, 415, 'unsupported_content_encoding'],
  ['nothing', '', JSON_TYPE, 400, 'missing_required_parameter'],
  ['broken JSON', '{"secret prompt": oops}', JSON_TYPE, 400, null],
  ['half of some JSON', '{"secret prompt":', JSON_TYPE, 400, null],
  ['deep JSON', `{"secret prompt":${'['.repeat(100)}${']'.repeat(100)}}`, JSON_TYPE, 400, null],
  [
    'deep JSON beyond ASCII',
    `{"ä𝄞":"secret prompt","a":${'['.repeat(100)}${']'.repeat(100)}}`,
    JSON_TYPE,
    400,
    null,
  ],
  ['deep and broken JSON', '[{"secret prompt":'.repeat(50), JSON_TYPE, 400, null],
  ['invalid UTF-8', Buffer.from([0x22, 0xff, 0x22]), JSON_TYPE, 400, null],
  ['too many bytes', JSON.stringify('x'.repeat(MAX_BYTES)), JSON_TYPE, 413, 'request_too_large'],
] as const)('%s is refused without quoting the body', async ([, body, headers, status, code]) => {
  const reply = await post(body, headers);
  expect(reply).toMatchObject({ status, body: { error: { type: 'invalid_request_error', code } } });
  expect(JSON.stringify(reply.body)).not.toContain('secret prompt');
});

test.for([
  ['{"model":"a","model":"b"}', 'model'],
  ['{"input":[{"id":"a","\\u0069d":"b"}]}', 'input[0].id'],
  ['{"ä𝄞":{"a":1,"a":1}}', 'ä𝄞.a'],
  [`{"${'x'.repeat(300)}":1,"${'x'.repeat(300)}":1}`, null],
])('a member that occurs twice in its object is refused by its name: %s', async ([body, param]) => {
  expect(await post(body ?? '')).toMatchObject({
    status: 400,
    body: { error: { param, message: expect.stringContaining('occurs more than once') } },
  });
});

test('an explicit identity encoding is no encoding', async () => {
  expect(await post('{}', { ...JSON_TYPE, 'content-encoding': 'identity' })).toMatchObject({ status: 200 });
});

test('a body too large without a declared length is refused while it is still being sent, and the refusal is readable', async () => {
  const request = httpRequest({ port, method: 'POST', headers: JSON_TYPE });
  request.write('x'.repeat(MAX_BYTES + 1));
  const [reply] = await once(request, 'response');
  expect(reply.statusCode).toBe(413);
  reply.resume();
  await once(reply, 'end');
  request.end();
});

test('a byte order mark before JSON is left out, also of what is passed on', async () => {
  expect(await post('\ufeff{"a":1}')).toEqual({ status: 200, body: { sizeBytes: 7, value: { a: 1 } } });
  expect(await post('\ufeff')).toMatchObject({
    status: 400,
    body: { error: { message: expect.stringContaining('is empty') } },
  });
});

test.for([
  ['{"a":', 'It ends too early.'],
  ['{"a":"b', 'It ends too early.'],
  ['{"a": oops}', 'It has an unexpected character.'],
  ['\ufeff\ufeff{}', 'It has an unexpected character.'],
  ['{"a":1}}', 'Unexpected character at position 7.'],
  ["{'a':1}", 'Unexpected character at position 1.'],
])('what is wrong with %j is said: %s', async ([body, hint]) => {
  expect(await post(body ?? '')).toMatchObject({
    status: 400,
    body: { error: { message: expect.stringContaining(hint ?? '') } },
  });
});

test.for([
  ['whole', '{"value":"TEXT"}', 200, 'value'],
  ['with a member twice', '{"a":1,"b":"TEXT","a":2}', 400, 'occurs more than once'],
  ['that goes on', '{"a":"TEXT"}}', 400, 'Unexpected character at position'],
  ['nested', `{"a":"TEXT","b":${'['.repeat(100)}${']'.repeat(100)}}`, 400, 'nested'],
  ['of many values', `{"a":"TEXT","b":[${'1,'.repeat(10_000)}1]}`, 400, 'more than the 10000 values'],
] as const)('a large body is parsed in a thread, by the same rules: %s', async ([, shape, status, said]) => {
  const parse = vi.spyOn(JSON, 'parse');
  const text = 'x'.repeat(600_000);
  const reply = await post(shape.replace('TEXT', text), JSON_TYPE, LARGE);
  expect(reply.status).toBe(status);
  expect(JSON.stringify(reply.body)).toContain(said);
  expect(Math.max(0, ...parse.mock.calls.map(([parsed]) => parsed.length))).toBeLessThan(text.length);
  parse.mockRestore();
});
