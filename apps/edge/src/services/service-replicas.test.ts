import type { Server } from 'node:http';
import { createLogger } from '@gateway/service-kit/logger';
import { createMetrics } from '@gateway/service-kit/metrics';
import { freePort } from '@gateway/testkit/free-port';
import { waitFor } from '@gateway/testkit/wait-for';
import { expect, onTestFinished, test } from 'vitest';
import { bearer, type RunningEdge } from '../testing/run-edge.ts';
import { type StandInService, startStandInService } from '../testing/stand-in-service.ts';
import { withTwoReplicas } from '../testing/two-replicas.ts';
import { createServiceConnections } from './service-connections.ts';
import { createServicePools } from './service-pools.ts';

/** Replicas of a service come and go; the edge follows what they report. */

let one: StandInService;
let other: StandInService;
let edge: RunningEdge;

withTwoReplicas(
  {
    settings: async (urls) => {
      const none = `http://127.0.0.1:${await freePort()}`;
      return { TEXT_URL: urls, IMAGE_URL: none, AUDIO_URL: none, RETRIEVAL_URL: none };
    },
    ready: true,
  },
  async (running) => {
    ({ one, other, edge } = running);
    await waitFor(() => one.watchers === 1 && other.watchers === 1);
  },
);

async function send(count: number): Promise<[number, number]> {
  const before = [one.requests.length, other.requests.length] as const;
  for (let n = 0; n < count; n += 1) {
    const reply = await fetch(`${edge.url}/v1/responses`, { method: 'POST', body: '{}', headers: bearer });
    await reply.text();
    expect(reply.status).toBe(200);
  }
  return [one.requests.length - before[0], other.requests.length - before[1]];
}

const openConnections = (server: Server): Promise<number> =>
  new Promise((resolve, reject) =>
    server.getConnections((error, count) => (error === null ? resolve(count) : reject(error))),
  );

/** Waits for the edge's line about an address. */
const logged = (service: StandInService, message: string, state: string) =>
  waitFor(() =>
    edge.output.some(
      (line) =>
        line.includes(`"port":${service.port}`) &&
        line.includes(`"state":"${state}"`) &&
        line.includes(`"msg":"a service address is ${message}"`),
    ),
  );

test('a replica that stops gets no more requests, keeps no idle connection, and learns that it is out', async () => {
  expect(await send(4)).toEqual([2, 2]);
  one.report('stopping');
  // The edge's last request to it is the one for its readiness, which it sends again.
  await logged(one, 'out', 'stopping');
  expect(await send(4)).toEqual([0, 4]);
  await waitFor(async () => (await openConnections(one.server)) <= one.watchers);
  one.report('ok');
  await logged(one, 'in', 'ready');
  expect(await send(4)).toEqual([2, 2]);
});

test('an unready replica is used only while there is no other', async () => {
  one.report('unready');
  await logged(one, 'out', 'unready');
  expect(await send(3)).toEqual([0, 3]);
  other.report('unready');
  await logged(other, 'out', 'unready');
  expect(await send(4)).toEqual([2, 2]);
});

test('a replica that hangs falls silent, and is used again when it goes on', async () => {
  one.report(null);
  await logged(one, 'out', 'silent');
  expect(await send(3)).toEqual([0, 3]);
  one.report('ok');
  await logged(one, 'in', 'ready');
  expect(await send(4)).toEqual([2, 2]);
});

test('a replica that is gone is out at once, and its successor at the same address gets requests again', async () => {
  await one.close();
  await logged(one, 'out', 'gone');
  expect(await send(3)).toEqual([0, 3]);
  one = await startStandInService({ port: one.port });
  onTestFinished(() => one.close());
  one.report('ok');
  await logged(one, 'in', 'ready');
  expect(await send(4)).toEqual([2, 2]);
});

test('the metrics show how many addresses of each service are in which state', async () => {
  one.report('unready');
  await logged(one, 'out', 'unready');
  const page = await (await fetch(edge.metricsUrl)).text();
  expect(page).toContain('gateway_service_addresses{target="text",state="ready",service="edge"} 1');
  expect(page).toContain('gateway_service_addresses{target="text",state="unready",service="edge"} 1');
  expect(page).toContain('gateway_service_addresses{target="image",state="gone",service="edge"} 1');
});

test('an address that appears under a name is found without a restart, one that disappears is left', async () => {
  const names: Record<string, string[]> = { text: ['127.0.0.1'] };
  const connections = createServiceConnections();
  const { pools, close } = await createServicePools({
    urls: {
      text: [`http://text:${other.port}`],
      image: ['http://image:1'],
      audio: ['http://audio:1'],
      retrieval: ['http://retrieval:1'],
    },
    lookup: async (host) => names[host] ?? Promise.reject(new Error('ENOTFOUND')),
    uptime: () => performance.now(),
    logger: await createLogger({ level: 'silent', pretty: false }),
    metrics: createMetrics('edge'),
    connections,
  });
  onTestFinished(() => {
    close();
    connections.close();
  });
  const hosts = () => pools.text.addresses.map(({ host, state }) => `${host} ${state}`);
  await waitFor(() => hosts().join() === '127.0.0.1 ready');
  names.text = ['127.0.0.2'];
  await waitFor(() => hosts().some((text) => text.startsWith('127.0.0.2')));
  expect(pools.text.addresses).toHaveLength(1);
  await waitFor(() => other.watchers === 1);
});
