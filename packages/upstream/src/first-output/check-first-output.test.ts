import { expect, test } from 'vitest';
import { startProvider, startUpstream } from '../provider-for-tests.ts';
import { checkFirstOutput, checkMediaReply } from './check-first-output.ts';

const SSE = 'text/event-stream; charset=utf-8';
const JSON_TYPE = 'application/json';

const check = (type: string, text: string, ended = true) =>
  checkFirstOutput({ status: 200, headers: { 'content-type': type }, bytes: Buffer.from(text), ended });

test.for([
  [SSE, 'event: response.created\ndata: {"type":"response.created","response":{"error":null}}\n\n'],
  [SSE, 'event: message_start\ndata: {}\n\n'],
  [SSE, ': a comment\n\n'],
  [SSE, 'data: {"id":"x","choices":[]}\n\n'],
  [JSON_TYPE, '{"id":"resp_1","error":null}'],
  [JSON_TYPE, '{"error":null,"id":"resp_1"}'],
  [JSON_TYPE, '[1]'],
  [JSON_TYPE, ''],
  ['audio/mpeg', '{"error":'],
  ['text/plain', 'error'],
] as const)('of type %s, %s is a beginning', ([type, text]) => {
  expect(check(type, text)).toBe('accept');
});

test.for([
  [SSE, 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"x"}}\n\n', 529],
  [SSE, ': hi\n\nevent: error\r\ndata: {"error":{"code":"rate_limit_exceeded","message":"x"}}\r\n\r\n', 429],
  [SSE, 'data: {"error":{"message":"x","type":"server_error"}}\n\n', 502],
  [SSE, 'data: {"type":"error","error":{"type":"invalid_request_error"}}\n\ndata: more\n\n', 400],
  [JSON_TYPE, '{"error":{"message":"x","type":"authentication_error"}}', 401],
  [JSON_TYPE, ' {"type":"error","error":{"type":"timeout_error"}}', 504],
  [JSON_TYPE, '{"error":"model is loading"}', 502],
] as const)('of type %s, %s is an error like an HTTP status %d', ([type, text, status]) => {
  expect(check(type, text)).toMatchObject({ status });
});

test.for([
  [JSON_TYPE, 'garbage'],
  ['text/html', '<html>'],
] as const)('of type %s, %s is no answer, and no error of the provider either', ([type, text]) => {
  expect(check(type, text)).toEqual({ broken: expect.any(String) });
});

test('an error that has not arrived whole is waited for', () => {
  expect(check(SSE, 'event: error\ndata: {"type":"err', false)).toBe('wait');
  expect(check(JSON_TYPE, '{"error":{"mess', false)).toBe('wait');
});

test('an error event before any other output is followed by another channel', async () => {
  const first = await startProvider((response) => {
    response.writeHead(200, { 'content-type': SSE }).write('event: error\nda');
    setImmediate(() =>
      response.end('ta: {"type":"error","error":{"type":"overloaded_error","message":"x"}}\n\n'),
    );
  });
  const second = await startProvider();
  const upstream = await startUpstream({
    first: { origin: first.origin },
    second: { origin: second.origin },
  });
  const model = upstream.resolveModel('small');
  if (model === null) throw new Error('no model');
  const candidates = upstream.candidates({ model, protocol: 'responses' });
  const request = () => ({ operation: 'responses', method: 'POST', headers: {}, body: '{}' }) as const;
  const options = { candidates, request, dialect: 'openai', work: 'paid', streamed: true } as const;
  const reply = await upstream.send(options);
  expect(reply.attempts).toMatchObject([{ outcome: 'overloaded' }, { outcome: 'ok' }]);
  await reply.bytes(100);
  const only = upstream.send({ ...options, candidates: candidates.slice(0, 1) });
  await expect(only).rejects.toMatchObject({ code: 'upstream_overloaded' });
});

test.for(['constructor', '__proto__'])('an error of the type %s has no status of its own', (type) => {
  const body = JSON.stringify({ type: 'error', error: { type, code: type, message: 'No.' } });
  const headers = { 'content-type': 'application/json' };
  const verdict = checkFirstOutput({ status: 200, headers, bytes: Buffer.from(body), ended: true });
  expect(verdict).toEqual({ status: 502, body });
});

test.for([400, 429, 503])('an error with its status as a number has that status: %d', (code) => {
  const bytes = Buffer.from(`data: {"error":{"code":${code},"message":"no","type":"x"}}\n\n`);
  const headers = { 'content-type': 'text/event-stream' };
  expect(checkFirstOutput({ status: 200, headers, bytes, ended: false })).toMatchObject({ status: code });
});

test.for([
  [{ base_resp: { status_code: 1008, status_msg: 'insufficient balance' }, data: null }, 402],
  [{ created: 1, data: [], error: { code: 429, message: 'x' } }, 429],
  [{ detail: 'x' }, 502],
  [{ code: 'Throttling', message: 'x' }, 429],
] as const)('of media %j is an error like an HTTP status %d', ([body, status]) => {
  const bytes = Buffer.from(JSON.stringify(body));
  const headers = { 'content-type': JSON_TYPE };
  expect(checkMediaReply({ status: 200, headers, bytes, ended: false })).toBe('wait');
  expect(checkMediaReply({ status: 200, headers, bytes, ended: true })).toMatchObject({ status });
});

test.for([
  { data: [{ b64_json: 'AAAA' }], error: { code: 429, message: 'one of two failed' } },
  { text: 'Hello.', code: 20_000, message: 'SUCCESS' },
  { created: 1, data: [{ url: 'x' }] },
])('what was made is delivered, whatever else is said: %j', (body) => {
  const bytes = Buffer.from(JSON.stringify(body));
  expect(checkMediaReply({ status: 200, headers: { 'content-type': JSON_TYPE }, bytes, ended: true })).toBe(
    'accept',
  );
});
