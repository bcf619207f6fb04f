import { createGate } from '@gateway/simulator/gate';
import { recordedStream } from '@gateway/simulator/recorded-stream';
import { waitFor } from '@gateway/testkit/wait-for';
import { expect, onTestFinished, test } from 'vitest';
import { type Gateway, startGateway } from './support/start-gateway.ts';
import { type SteadyLoad, startLoad } from './support/steady-load.ts';
import { startTcpBalancer } from './support/tcp-balancer.ts';

/** Processes are restarted one after the other under load: callers who repeat nothing notice nothing. */

async function gatewayWith(replicas: Record<string, number>, env: Record<string, string> = {}) {
  const gateway = await startGateway({
    mode: 'each',
    services: ['edge', 'text', 'image', 'image-worker'],
    replicas,
    env: { DRAIN_TIMEOUT_MS: '20000', ...env },
  });
  onTestFinished(() => gateway.close());
  return gateway;
}

function loadOn(gateway: Gateway, url: string): SteadyLoad {
  const load = startLoad(url, gateway.key);
  onTestFinished(() => load.stop());
  return load;
}

/** Sends SIGTERM, and resolves when its successor is `back`. */
async function restart(gateway: Gateway, name: string, back: () => boolean | Promise<boolean>) {
  const { pid, ended } = gateway.stack.process(name);
  gateway.stack.process(name).kill('SIGTERM');
  expect(await ended).toBe('exit code 0');
  await waitFor(async () => gateway.stack.process(name).pid !== pid && (await back()), {
    what: `${name} again`,
  });
}

const STREAM = {
  model: 'claude-sonnet-5-5',
  max_tokens: 9,
  messages: [{ role: 'user', content: 'x' }],
  stream: true,
};

/** Streams that have begun, on an endpoint that the load does not use; `finish` lets the provider go on, and checks them. */
async function openStreams(gateway: Gateway, url: string) {
  const gate = createGate();
  const sse = recordedStream('messages-text');
  const replies: Response[] = [];
  for (let count = 0; count < 2; count += 1) {
    gateway.simulator.script('/v1/messages', { sse, stallAfter: 3, resume: gate.opened });
    replies.push(
      await fetch(`${url}/v1/messages`, {
        method: 'POST',
        headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
        body: JSON.stringify(STREAM),
      }),
    );
  }
  const finish = async () => {
    gate.open();
    for (const reply of replies) expect(await reply.text()).toBe(sse.toString());
  };
  return { finish };
}

test('services and workers, one replica after the other: no request fails', async () => {
  const gateway = await gatewayWith({ text: 2, image: 2, 'image-worker': 2 });
  const load = loadOn(gateway, gateway.url);
  await load.goesOn(3);
  for (const name of ['text', 'text-2', 'image', 'image-worker']) {
    await restart(gateway, name, () => true);
    await load.goesOn(3);
    expect(load.failures).toEqual([]);
  }
}, 180_000);

test('streams that are under way when their services are restarted go on to their end', async () => {
  const gateway = await gatewayWith({ text: 2 });
  const streams = await openStreams(gateway, gateway.url);
  const restarted = ['text', 'text-2'].map((name) => restart(gateway, name, () => true));
  await waitFor(() => gateway.lines.filter(({ text }) => text.includes('"msg":"stopping"')).length === 2);
  await streams.finish();
  await Promise.all(restarted);
});

test('each edge in turn, behind a balancer that asks for readiness: no request fails, no stream is cut', async () => {
  const gateway = await gatewayWith({ edge: 2 }, { DRAIN_DELAY_MS: '1000' });
  const edges = ['edge', 'edge-2'].map((name) => gateway.stack.process(name).url ?? '');
  const balancer = await startTcpBalancer(edges);
  onTestFinished(() => balancer.close());
  const load = loadOn(gateway, balancer.url);
  for (const name of ['edge', 'edge-2']) {
    const streams = await openStreams(gateway, balancer.url);
    const restarted = restart(gateway, name, () => balancer.ready.length === 2);
    await waitFor(() => balancer.ready.length === 1);
    await load.goesOn(3);
    await streams.finish();
    await restarted;
    await load.goesOn(3);
    expect(load.failures).toEqual([]);
  }
}, 180_000);
