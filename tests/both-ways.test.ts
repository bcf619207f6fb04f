import { afterAll, beforeAll, expect, test } from 'vitest';
import { createKey } from './support/admin-keys.ts';
import { type Exchanged, exchange } from './support/exchange.ts';
import { pngFile, wavFile } from './support/media-files.ts';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** The same gateway twice: the services in the edge's process, and each in its own. */
let ways: Readonly<Record<'one' | 'each', { readonly gateway: Gateway; readonly limitedKey: string }>>;

beforeAll(async () => {
  const open = async (mode: 'one' | 'each') => {
    const gateway = await startGateway({
      mode,
      env: {
        EDGE_BODY_IDLE_TIMEOUT_MS: '300',
        EDGE_CORS_ORIGINS: 'https://page.example',
        PUBLIC_URL: 'https://gateway.example',
        TEXT_MAX_BODY_BYTES: '20000',
        AUDIO_FILE_MAX_BYTES: '200000',
      },
    });
    const limits = { requestsPerMinute: 1000, tokensPerMinute: 100_000 };
    const { key } = await createKey(gateway.stack, { name: 'limited', limits });
    return { gateway, limitedKey: key };
  };
  const [one, each] = await Promise.all([open('one'), open('each')]);
  ways = { one, each };
});
afterAll(() => Promise.all(Object.values(ways ?? {}).map(({ gateway }) => gateway.close())));

interface Sent {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
  readonly key?: 'bootstrap' | 'limited' | 'none';
}

/** The bytes of a request, given the key that it is sent with. */
type Request = (key: string, limitedKey: string) => Buffer;

const request =
  ({ method = 'POST', path, headers = {}, body = Buffer.alloc(0), key = 'bootstrap' }: Sent): Request =>
  (bootstrapKey, limitedKey) => {
    const secret = key === 'limited' ? limitedKey : bootstrapKey;
    const lines = [
      `${method} ${path} HTTP/1.1`,
      'Host: gateway.example',
      'Connection: close',
      'X-Request-Id: request-both-ways',
      ...(key === 'none' ? [] : [`Authorization: Bearer ${secret}`]),
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
      ...(method === 'POST' &&
      headers['Transfer-Encoding'] === undefined &&
      headers['Content-Length'] === undefined
        ? [`Content-Length: ${body.length}`]
        : []),
    ];
    return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), body]);
  };

const post = (path: string, json: unknown, sent: Partial<Sent> = {}): Request =>
  request({
    path,
    ...sent,
    headers: { 'Content-Type': 'application/json', ...sent.headers },
    body: Buffer.from(JSON.stringify(json)),
  });
const get = (path: string, sent: Partial<Sent> = {}): Request => request({ method: 'GET', path, ...sent });

async function form(
  path: string,
  parts: Readonly<Record<string, string | File>>,
  chunked = false,
): Promise<Request> {
  const data = new FormData();
  for (const [name, value] of Object.entries(parts)) data.append(name, value);
  const encoded = new Response(data);
  const body = Buffer.from(await encoded.arrayBuffer());
  const type = { 'Content-Type': encoded.headers.get('content-type') ?? '' };
  if (!chunked) return request({ path, headers: type, body });
  const chunks = Buffer.concat([
    Buffer.from(`${body.length.toString(16)}\r\n`),
    body,
    Buffer.from('\r\n0\r\n\r\n'),
  ]);
  return request({ path, headers: { ...type, 'Transfer-Encoding': 'chunked' }, body: chunks });
}

const ask = { model: 'gpt-5.2', input: 'What is up?' };
const message = { model: 'claude-sonnet-5-5', max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] };
const chat = { model: 'gpt-5.2', messages: [{ role: 'user', content: 'Hi' }] };
const dallE = { model: 'dall-e-3', prompt: 'A lighthouse' };

const REQUESTS: Readonly<Record<string, Request | Promise<Request>>> = {
  'a response': post('/v1/responses', ask),
  'a stream of a response': post('/v1/responses', { ...ask, stream: true }),
  'a response within limits': post('/v1/responses', ask, { key: 'limited' }),
  'a message': post('/v1/messages', message),
  'a stream of a message within limits': post(
    '/v1/messages',
    { ...message, stream: true },
    { key: 'limited' },
  ),
  'a translated message': post('/v1/messages', { ...message, model: 'gpt-5.2' }),
  'a chat completion': post('/v1/chat/completions', chat),
  'a stream of a chat completion': post('/v1/chat/completions', { ...chat, stream: true }),
  'input tokens of a response': post('/v1/responses/input_tokens', ask),
  'input tokens of a message': post('/v1/messages/count_tokens', message),
  'a response that is not there': get('/v1/responses/resp_unknown'),
  'input items of a response that is not there': get('/v1/responses/resp_unknown/input_items'),
  'cancelling a response that is not there': post('/v1/responses/resp_unknown/cancel', {}),
  'deleting a response that is not there': get('/v1/responses/resp_unknown', { method: 'DELETE' }),
  models: get('/v1/models?limit=2'),
  'the head of models': get('/v1/models', { method: 'HEAD' }),
  'a model by an escaped name': get('/v1/models/gpt%2D5.2'),
  'a model that is not there': get('/v1/models/a%2Fb'),
  'the own key': get('/v1/key', { key: 'limited' }),
  embeddings: post('/v1/embeddings', { model: 'text-embedding-3-small', input: ['one', 'two'] }),
  'sorted documents': post('/v1/rerank', { model: 'rerank-v4.0', query: 'one', documents: ['one', 'two'] }),
  'a completion': post('/v1/completions', { model: 'gpt-5.2', prompt: 'once' }),
  'a stream of a completion': post('/v1/completions', { model: 'gpt-5.2', prompt: 'once', stream: true }),
  moderations: post('/v1/moderations', { input: ['hello', 'I hate it'] }),
  'embeddings of nothing': post('/v1/embeddings', { model: 'text-embedding-3-small', input: [] }),
  'an image': post('/v1/images/generations', { ...dallE, response_format: 'b64_json' }),
  'an edited image': form('/v1/images/edits', { model: 'gpt-image-1', prompt: 'Night', image: pngFile() }),
  'an asset that is not there': get('/v1/images/assets/asset_1?expires=1&signature=x', { key: 'none' }),
  speech: post('/v1/audio/speech', { model: 'tts-1', voice: 'alloy', input: 'Hello' }),
  'a stream of speech events': post('/v1/audio/speech', {
    model: 'gpt-4o-mini-tts',
    voice: 'alloy',
    input: 'Hello',
    stream_format: 'sse',
  }),
  'a transcript': form('/v1/audio/transcriptions', { model: 'whisper-1', file: wavFile(1) }),
  'a translation': form('/v1/audio/translations', { model: 'whisper-1', file: wavFile(1) }),
  'a transcript of an upload in chunks': form(
    '/v1/audio/transcriptions',
    { model: 'whisper-1', file: wavFile(1) },
    true,
  ),
  'a form with too large a file': form('/v1/audio/transcriptions', { model: 'whisper-1', file: wavFile(20) }),
  'a body that is not JSON': request({
    path: '/v1/responses',
    headers: { 'Content-Type': 'application/json' },
    body: Buffer.from('{"model'),
  }),
  'a value that is wrong': post('/v1/messages', { ...message, temperature: 7 }),
  'a model that is unknown': post('/v1/responses', { ...ask, model: 'unknown' }),
  'a body that is too large': post('/v1/responses', { ...ask, input: 'x'.repeat(30_000) }),
  'a body that is declared too large and never comes': request({
    path: '/v1/responses',
    headers: { 'Content-Type': 'application/json', 'Content-Length': '30000' },
    // A proxy sends nothing on before the first byte of the body.
    body: Buffer.from('{'),
  }),
  'a body that is waited for': post('/v1/responses', ask, { headers: { Expect: '100-continue' } }),
  'a JSON body that stops arriving': request({
    path: '/v1/responses',
    headers: { 'Content-Type': 'application/json', 'Content-Length': '1000' },
    body: Buffer.from('{'),
  }),
  'a form that stops arriving': request({
    path: '/v1/images/edits',
    headers: { 'Content-Type': 'multipart/form-data; boundary=x', 'Content-Length': '1000' },
    body: Buffer.from('--x\r\nContent-Disposition: form-data; name="model"\r\n\r\ngpt'),
  }),
  'a body that breaks': request({
    path: '/v1/messages',
    headers: { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' },
    body: Buffer.from('1\r\n{\r\nno chunk\r\n'),
  }),
  'a form that breaks': request({
    path: '/v1/audio/transcriptions',
    headers: { 'Content-Type': 'multipart/form-data; boundary=x', 'Transfer-Encoding': 'chunked' },
    body: Buffer.from('3\r\n--x\r\nno chunk\r\n'),
  }),
  'no key': post('/v1/responses', ask, { key: 'none' }),
  'a path that is not there': get('/v1/nothing'),
  'a method that is not there': get('/v1/responses'),
  "a page's request": post('/v1/responses', ask, { headers: { Origin: 'https://page.example' } }),
  "a page's preflight": get('/v1/responses', {
    method: 'OPTIONS',
    key: 'none',
    headers: { Origin: 'https://page.example', 'Access-Control-Request-Method': 'POST' },
  }),
  'a page of our own': get('/api/hello', { key: 'none' }),
};

/** What differs from one request to the next: times, what is left of limits, ids, and how long a body is with them. */
const VOLATILE =
  /^(date|content-length|x-ratelimit-(remaining|reset)-|anthropic-ratelimit-.*-(remaining|reset)$)/;
const volatileParts = (text: string): string =>
  text
    .replaceAll(/\b(resp|msg|rs|fc|chatcmpl|cmpl|modr|job|key|asset|call|item)[_-][\w-]{6,}/g, '$1_…')
    .replaceAll(/"(created|created_at|completed_at|remaining|resets_at)": ?\d+/g, '"$1":0')
    .replaceAll(/"obfuscation":"\w*"/g, '"obfuscation":""')
    .replaceAll(/;ms=\d+/g, ';ms=0');

const settled = ({ status, headers, body }: Exchanged) => ({
  status,
  headers: headers.map(([name, value]) => [name, VOLATILE.test(name) ? '…' : volatileParts(value)]),
  body: volatileParts(body),
});

test.for(Object.entries(REQUESTS))(
  'the same status, headers and body whether the service is mounted or reached over HTTP: %s',
  async ([, made]) => {
    const bytes = await made;
    const [one, each] = await Promise.all(
      [ways.one, ways.each].map(({ gateway, limitedKey }) =>
        exchange(gateway.url, bytes(gateway.key, limitedKey)),
      ),
    );
    expect(one?.status).toMatch(/^HTTP\/1\.1 \d{3} /);
    expect(one && settled(one)).toEqual(each && settled(each));
  },
);
