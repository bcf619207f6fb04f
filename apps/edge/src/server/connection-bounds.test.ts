import { connect, type Socket } from 'node:net';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type RunningEdge, runEdge } from '../testing/run-edge.ts';

let redis: TestRedis;
let edge: RunningEdge;
const sockets: Socket[] = [];

beforeAll(async () => {
  redis = await startRedis();
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await edge.stop();
});
afterAll(() => redis.close());

const PROBE = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';

/** Opens a connection from this address, and resolves to the first bytes of the answer; null: it was closed. */
async function probe(localAddress = '127.0.0.1'): Promise<string | null> {
  const socket = connect({ host: '127.0.0.1', port: edge.port, localAddress });
  sockets.push(socket);
  // A connection that is closed before the probe was read ends with an error, or without.
  socket.on('error', () => undefined);
  socket.write(PROBE);
  return new Promise((resolve) => {
    socket.once('data', (data) => resolve(String(data).slice(0, 15)));
    socket.once('close', () => resolve(null));
  });
}

const refused = async (reason: string) => {
  const page = await (await fetch(edge.metricsUrl)).text();
  return page.includes(`gateway_connections_refused_total{reason="${reason}",service="edge"} 1\n`);
};

test('connections beyond the bound are closed at once, and one is accepted again when one has ended', async () => {
  edge = await runEdge({ REDIS_URL: redis.url, EDGE_MAX_CONNECTIONS: '3' });
  for (let n = 0; n < 3; n += 1) expect(await probe()).toBe('HTTP/1.1 200 OK');
  expect(await probe()).toBeNull();
  expect(await refused('total')).toBe(true);
  sockets[0]?.destroy();
  await waitFor(async () => (await probe()) === 'HTTP/1.1 200 OK');
});

test('one address cannot take the connections of others', async () => {
  edge = await runEdge({ REDIS_URL: redis.url, EDGE_MAX_CONNECTIONS_PER_ADDRESS: '2' });
  for (let n = 0; n < 2; n += 1) expect(await probe()).toBe('HTTP/1.1 200 OK');
  expect(await probe()).toBeNull();
  expect(await probe('127.0.0.2')).toBe('HTTP/1.1 200 OK');
  expect(await refused('address')).toBe(true);
});
