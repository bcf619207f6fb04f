import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, RequestListener } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { waitFor } from '@gateway/testkit/wait-for';
import { expect, onTestFinished, test } from 'vitest';
import { bearer, KEY, type RunningEdge, runEdge } from '../testing/run-edge.ts';
import { type StandInService, startStandInService } from '../testing/stand-in-service.ts';
import { withTwoReplicas } from '../testing/two-replicas.ts';

/** A replica dies with a request that it had not begun to answer: another one answers it, where that does no harm. */

let redisUrl: string;
let one: StandInService;
let other: StandInService;
let edge: RunningEdge;

withTwoReplicas(
  { settings: (urls) => ({ TEXT_URL: urls, IMAGE_URL: urls, AUDIO_URL: urls, RETRIEVAL_URL: urls }) },
  (running) => {
    ({ redisUrl, one, other, edge } = running);
  },
);

const requests = () => one.requests.length + other.requests.length;
const hashOf = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest('hex');

/** The first service that has read a whole request dies with it, the second one answers with the hash of the body. */
function dieOnce(): void {
  let died = false;
  const listener: RequestListener = async (request, response) => {
    const body = await text(request);
    if (!died) {
      died = true;
      request.socket.destroy();
    } else response.end(hashOf(body));
  };
  one.reply(listener);
  other.reply(listener);
}

const post = (path: string, body: string, requestId = 'request-to-a-dying-service') =>
  fetch(edge.url + path, { method: 'POST', body, headers: { ...bearer, 'x-request-id': requestId } });

test.for([2, 200_000, 900_000])(
  'text of %i bytes is answered by another replica, byte for byte',
  async (size) => {
    dieOnce();
    const body = randomBytes(size / 2).toString('hex');
    const reply = await post('/v1/responses', body);
    expect([reply.status, await reply.text()]).toEqual([200, hashOf(body)]);
    expect(requests()).toBe(2);
    expect(await edge.logLine('request-to-a-dying-service')).toMatchObject({ outcome: 'ok', movedOn: true });
  },
);

test('a body that is still arriving when its replica dies reaches another one whole', async () => {
  const first = Promise.withResolvers<IncomingMessage>();
  let received: string | undefined;
  const dying: RequestListener = (request) => {
    const rest: RequestListener = async (second, response) => {
      received = await text(second);
      response.end('{}');
    };
    one.reply(rest);
    other.reply(rest);
    request.once('data', () => first.resolve(request));
  };
  one.reply(dying);
  other.reply(dying);
  const socket = connect(edge.port, '127.0.0.1');
  socket.write(
    `POST /v1/responses HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nContent-Length: 12\r\nConnection: close\r\n\r\nfirst `,
  );
  (await first.promise).socket.destroy();
  await waitFor(() => requests() === 2);
  socket.write('second');
  const [reply] = await once(socket, 'data');
  expect(String(reply)).toMatch(/^HTTP\/1\.1 200 /);
  expect(received).toBe('first second');
  socket.destroy();
});

test.for([
  ['/v1/images/generations', 502, 'false'],
  ['/v1/audio/speech', 502, 'false'],
  ['/v1/conversations', 503, 'true'],
] as const)('%s is not sent again by the edge', async ([path, status, retry]) => {
  dieOnce();
  const reply = await post(path, '{}');
  expect([reply.status, reply.headers.get('x-should-retry')]).toEqual([status, retry]);
  expect(requests()).toBe(1);
});

test('a body that is too large to be kept is not sent again, and its caller gets an error to retry', async () => {
  dieOnce();
  const reply = await post('/v1/responses', 'x'.repeat(2_000_000));
  expect([reply.status, reply.headers.get('x-should-retry')]).toEqual([503, 'true']);
  expect(requests()).toBe(1);
});

test('a request that kills its replicas meets two of them, however many there are', async () => {
  const third = await startStandInService();
  onTestFinished(() => third.close());
  const all = [one, other, third];
  const urls = all.map(({ url }) => url).join();
  const edgeToAll = await runEdge({ REDIS_URL: redisUrl, TEXT_URL: urls });
  onTestFinished(async () => void (await edgeToAll.stop()));
  for (const service of all)
    service.reply(async (request) => {
      await text(request);
      request.socket.destroy();
    });
  const init = { method: 'POST', body: '{}', headers: bearer };
  expect((await fetch(`${edgeToAll.url}/v1/responses`, init)).status).toBe(503);
  expect(requests() + third.requests.length).toBe(2);
});
