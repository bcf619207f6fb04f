import { edgeMark } from '@gateway/service-kit/identity/edge-connection';
import { isLongRun } from '@gateway/testkit/is-long-run';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { rawRequest } from '../testing/raw-request.ts';
import { GATEWAY_SECRET, KEY, type RunningEdge, runEdge } from '../testing/run-edge.ts';
import { type StandInService, startStandInService } from '../testing/stand-in-service.ts';

/**
 * Callers share the connections to a service. For any bytes of one caller, the next one gets the reply to its own
 * request, and the service sees no request that was not sent. The service here is a plain HTTP server without its own
 * defence.
 */

let redis: TestRedis;
let service: StandInService;
let edge: RunningEdge;

beforeAll(async () => {
  redis = await startRedis();
  service = await startStandInService();
  const { url } = service;
  edge = await runEdge({
    REDIS_URL: redis.url,
    TEXT_URL: url,
    IMAGE_URL: url,
    AUDIO_URL: url,
    RETRIEVAL_URL: url,
  });
});
afterAll(async () => {
  await edge.stop();
  await service.close();
  await redis.close();
});
beforeEach(() => {
  service.requests.length = 0;
  service.reply((request, response) => {
    request.resume();
    request.once('end', () => {
      const seen = `${request.method} ${request.url} ${request.headers['x-sender']}`;
      response.writeHead(200, { 'content-type': 'text/plain' }).end(seen);
    });
  });
});

const METHODS = {
  GET: '/v1/images/assets/a',
  HEAD: '/v1/images/assets/a',
  DELETE: '/v1/responses/resp_1',
  OPTIONS: '/v1/responses',
  POST: '/v1/responses',
  PUT: '/v1/responses',
  PATCH: '/v1/responses',
  TRACE: '/v1/responses',
  QUERY: '/v1/responses',
};

/** What would be read as the next request, whole or up to a header that swallows the victim's first line. */
const SMUGGLED = ['GET /metrics HTTP/1.1\r\nHost: h\r\nX-A: ', 'GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n'];

const chunked = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`;

/** Header lines with a right or wrong length of a body, and the bytes that follow. */
const FRAMINGS: Record<string, (body: string) => { lines: readonly string[]; bytes: string }> = {
  none: (body) => ({ lines: [], bytes: body }),
  length: (body) => ({ lines: [`Content-Length: ${body.length}`], bytes: body }),
  'length 0': (body) => ({ lines: ['Content-Length: 0'], bytes: body }),
  'length with a sign': (body) => ({ lines: [`Content-Length: +${body.length}`], bytes: body }),
  'length in hex': (body) => ({ lines: [`Content-Length: 0x${body.length.toString(16)}`], bytes: body }),
  'length twice': (body) => ({ lines: [`Content-Length: ${body.length}`, 'Content-Length: 0'], bytes: body }),
  'length as a list': (body) => ({ lines: [`Content-Length: ${body.length}, 0`], bytes: body }),
  'length before a space': (body) => ({ lines: [`Content-Length : ${body.length}`], bytes: body }),
  'length in a folded line': (body) => ({ lines: ['Content-Length:', ` ${body.length}`], bytes: body }),
  'length beyond 64 bits': (body) => ({ lines: ['Content-Length: 18446744073709551654'], bytes: body }),
  chunked: (body) => ({ lines: ['Transfer-Encoding: chunked'], bytes: chunked(body) }),
  'chunked, capital': (body) => ({ lines: ['Transfer-Encoding: CHUNKED'], bytes: chunked(body) }),
  'chunked, empty': (body) => ({ lines: ['Transfer-Encoding: chunked'], bytes: `0\r\n\r\n${body}` }),
  'chunked twice': (body) => ({
    lines: ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'],
    bytes: chunked(body),
  }),
  'chunked after a space': (body) => ({ lines: ['Transfer-Encoding : chunked'], bytes: chunked(body) }),
  'chunked after a tab': (body) => ({ lines: ['Transfer-Encoding:\tchunked'], bytes: chunked(body) }),
  'chunked in a folded line': (body) => ({ lines: ['Transfer-Encoding:', ' chunked'], bytes: chunked(body) }),
  'chunked after a bare line feed': (body) => ({
    lines: ['X-B: 1\nTransfer-Encoding: chunked'],
    bytes: chunked(body),
  }),
  'chunked after a bare carriage return': (body) => ({
    lines: ['X-B: 1\rTransfer-Encoding: chunked'],
    bytes: chunked(body),
  }),
  'chunked, then identity': (body) => ({
    lines: ['Transfer-Encoding: chunked, identity'],
    bytes: chunked(body),
  }),
  'gzip, then chunked': (body) => ({ lines: ['Transfer-Encoding: gzip, chunked'], bytes: chunked(body) }),
  identity: (body) => ({ lines: ['Transfer-Encoding: identity'], bytes: body }),
  'no such encoding': (body) => ({ lines: ['Transfer-Encoding: xchunked'], bytes: chunked(body) }),
  both: (body) => ({
    lines: [`Content-Length: ${chunked(body).length}`, 'Transfer-Encoding: chunked'],
    bytes: chunked(body),
  }),
  'chunked with a trailer': (body) => ({
    lines: ['Transfer-Encoding: chunked', 'Trailer: Content-Length'],
    bytes: `0\r\nContent-Length: 5\r\n\r\n${body}`,
  }),
  'chunked with an extension': (body) => ({
    lines: ['Transfer-Encoding: chunked'],
    bytes: `${body.length.toString(16)};a="\n"\r\n${body}\r\n0\r\n\r\n`,
  }),
};

const CONNECTION_TOKENS = [
  undefined,
  'keep-alive',
  'close',
  'content-length',
  'Content-Length, Transfer-Encoding, Host',
  'transfer-encoding',
  'host',
  'content-type',
  'x-gateway-identity',
  'x-gateway-edge',
  'x-request-id, x-forwarded-for',
  'upgrade',
];

interface Attack {
  readonly name: string;
  readonly text: string;
}

/** One case of three, but every method with every framing, and each of these with every token. */
const PART = 3;

function* attacks(smuggled: string): Generator<Attack> {
  for (const [m, [method, path]] of Object.entries(METHODS).entries())
    for (const [f, [framing, frame]] of Object.entries(FRAMINGS).entries())
      for (const [t, token] of CONNECTION_TOKENS.entries()) {
        if (!isLongRun && (m + f + t) % PART !== SMUGGLED.indexOf(smuggled)) continue;
        const { lines, bytes } = frame(smuggled);
        const head = [
          `${method} ${path} HTTP/1.1`,
          'Host: gateway.example',
          `Authorization: Bearer ${KEY}`,
          'X-Sender: attacker',
          ...(token === undefined ? [] : [`Connection: ${token}`]),
          ...lines,
        ];
        yield {
          name: `${method}, ${framing}, Connection: ${token}`,
          text: `${head.join('\r\n')}\r\n\r\n${bytes}`,
        };
      }
}

const VICTIMS = [
  ['POST', '/v1/images/generations', '{}'],
  ['GET', '/v1/models', undefined],
] as const;

const sendAsVictim = async ([method, path, body]: (typeof VICTIMS)[number]): Promise<boolean> => {
  const headers = { authorization: `Bearer ${KEY}`, 'x-sender': 'victim' };
  const reply = await fetch(edge.url + path, { method, headers, ...(body === undefined ? {} : { body }) });
  return (await reply.text()) === `${method} ${path} victim`;
};

test.for(SMUGGLED)(
  'with any framing of %j, the next caller gets its own reply and the service only requests that were sent',
  { timeout: 300_000 },
  async (smuggled) => {
    const broken: string[] = [];
    let victim = 0;
    for (const { name, text } of attacks(smuggled)) {
      const { socket } = await rawRequest(edge.port, text);
      victim += 1;
      const isOwn = await sendAsVictim(VICTIMS[victim % VICTIMS.length] ?? VICTIMS[0]);
      const foreign = service.requests.filter(({ headers }) => headers['x-sender'] === undefined);
      if (!isOwn || foreign.length > 0) broken.push(name);
      service.requests.length = 0;
      socket.destroy();
    }
    expect(victim).toBeGreaterThan(isLongRun ? 2800 : 930);
    expect(broken).toEqual([]);
  },
);

test("every request that reaches a service begins with the edge's mark, after the two lines that undici writes", async () => {
  for (const [method, path] of Object.entries(METHODS)) {
    const head = `${method} ${path} HTTP/1.1\r\nX-Gateway-Edge: forged\r\nHost: h\r\nAuthorization: Bearer ${KEY}`;
    const { socket } = await rawRequest(edge.port, `${head}\r\n\r\n`);
    socket.destroy();
  }
  const marks = service.requests.map(({ rawHeaders }) => rawHeaders.slice(4, 6).join(': '));
  const before = service.requests.map(({ rawHeaders }) => [rawHeaders[0], rawHeaders[2]].join());
  expect(new Set(before)).toEqual(new Set(['host,connection']));
  expect(service.requests.map(({ method }) => method)).toEqual(['GET', 'HEAD', 'DELETE', 'POST']);
  expect(new Set(marks)).toEqual(new Set([`x-gateway-edge: ${edgeMark(GATEWAY_SECRET)}`]));
});

test('Connection removes what belongs to the connection, and nothing that frames, describes or steers the request', async () => {
  const ends = { 'x-of-the-connection': '1', 'http2-settings': 'AAMAAABkAAQAoAAAAAIAAAAA' };
  const stays = {
    host: 'gateway.example',
    'content-type': 'application/json',
    'content-length': '2',
    accept: 'text/event-stream',
    'anthropic-version': '2023-06-01',
    'openai-beta': 'x=1',
    prefer: 'respond-async',
    'idempotency-key': 'one',
    'x-gateway-strict': 'true',
  };
  const lines = Object.entries({ ...ends, ...stays }).map(([name, value]) => `${name}: ${value}`);
  const named = [...Object.keys(ends), ...Object.keys(stays), 'x-gateway-identity', 'x-request-id'];
  const head = ['POST /v1/responses HTTP/1.1', `Authorization: Bearer ${KEY}`, ...lines];
  const { status, socket } = await rawRequest(
    edge.port,
    `${head.join('\r\n')}\r\nConnection: ${named.join(', ')}\r\n\r\n{}`,
  );
  expect(status).toBe(200);
  const headers = service.requests.at(-1)?.headers ?? {};
  expect(headers).toMatchObject({
    ...stays,
    'x-gateway-identity': expect.any(String),
    'x-request-id': expect.any(String),
    'x-forwarded-for': '127.0.0.1',
  });
  for (const name of Object.keys(ends)) expect(headers).not.toHaveProperty(name);
  socket.destroy();
});
