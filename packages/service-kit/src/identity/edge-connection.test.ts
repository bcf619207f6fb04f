import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { closeServers, SECRET, serveAudio, token } from '../fixtures/serve-audio.ts';
import { edgeMark } from './edge-connection.ts';

afterEach(closeServers);

/** Bytes as a wrong edge would send them; resolves to all that comes back until the service ends the connection. */
async function exchange(url: string, texts: readonly string[]): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  let received = '';
  socket.setEncoding('latin1');
  for (const text of texts) {
    const replied = once(socket, 'data');
    socket.write(text);
    const [reply] = await Promise.race([replied, once(socket, 'close').then(() => [''])]);
    received += reply;
  }
  if (!socket.destroyed) await once(socket, 'close');
  return received;
}

const MARK = `x-gateway-edge: ${edgeMark(SECRET)}`;
const fromEdge = (line: string, ...headers: string[]) =>
  [
    `${line} HTTP/1.1`,
    'host: h',
    'connection: keep-alive',
    MARK,
    `x-gateway-identity: ${token}`,
    ...headers,
    '',
    '',
  ].join('\r\n');
const victim = fromEdge('POST /v1/audio/speech', 'content-length: 0');

test.for([
  'GET /metrics HTTP/1.1\r\nHost: h\r\nX-A: ',
  'GET /metrics HTTP/1.1\r\nHost: ',
  'GET /metrics HTTP/1.1\r\nHost: h\r\nConnection: ',
  'GET /metrics HTTP/1.1\r\nConnection: ',
  'GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n',
  'POST /v1/audio/speech HTTP/1.1\r\nx-gateway-edge: a-guess\r\nHost: h\r\nX-A: ',
  'POST /v1/audio/speech HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n',
  'GET /healthz HTTP/1.1\r\nHost: h\r\n\r\nGET /readyz HTTP/1.1\r\nHost: h\r\n\r\n',
])(
  "a caller's bytes %j between two requests of the edge end the connection, and get no reply",
  async (bytes) => {
    const seen: (string | undefined)[] = [];
    const { url, lines } = await serveAudio({
      speech: (request, response) => {
        seen.push(request.headers['x-sender']?.toString());
        response.end('audio');
      },
    });
    const first = fromEdge('POST /v1/audio/speech', 'content-length: 0', 'x-sender: first');
    const received = await exchange(url, [first, bytes + victim]);
    expect(received.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(seen).toEqual(['first']);
    await expect.poll(() => lines.length, { timeout: 20_000 }).toBeGreaterThan(1);
    expect(lines[1]).toMatchObject({
      outcome: 'refused',
      path: 'unknown',
      'error.code': 'malformed_request',
    });
  },
);

test('the edge may use its connection again and again, and others need no mark on theirs', async () => {
  const { url } = await serveAudio({});
  const last = fromEdge('POST /v1/audio/speech', 'content-length: 0', 'connection: close');
  const received = await exchange(url, [victim, victim, last]);
  expect(received.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(3);
  const plain = 'GET /healthz HTTP/1.1\r\nhost: h\r\n';
  const unmarked = await exchange(url, [`${plain}\r\n`, `${plain}connection: close\r\n\r\n`]);
  expect(unmarked.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2);
});

test.for([
  ['GET /metrics', 'content-length: 4', 'body'],
  ['DELETE /v1/audio/speech', 'transfer-encoding: chunked', '0\r\n\r\n'],
  ['POST /v1/audio/speech', 'transfer-encoding: gzip, chunked', '0\r\n\r\n'],
  ['GET http://h/metrics', 'x-any: 1', ''],
  ['GET /v1/audio/%zz', 'x-any: 1', ''],
] as const)(
  'what the edge would not send is a 400, and ends the connection: %j',
  async ([line, header, body]) => {
    const { url, lines } = await serveAudio({});
    const received = await exchange(url, [fromEdge(line, header) + body]);
    expect(received).toMatch(/^HTTP\/1\.1 400 /);
    expect(received).toMatch(/^connection: close\r$/im);
    expect(received).toContain('"type":"invalid_request_error"');
    await expect.poll(() => lines, { timeout: 20_000 }).toHaveLength(1);
    expect(lines[0]).toMatchObject({
      outcome: 'refused',
      status: 400,
      requestId: expect.stringMatching(/^req_/),
    });
  },
);
