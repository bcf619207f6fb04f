import { createGate } from '@gateway/simulator/gate';
import { waitFor } from '@gateway/testkit/wait-for';
import { expect, test } from 'vitest';
import { createKey, type MadeKey } from './support/admin-keys.ts';
import { lookIntoQueues } from './support/job-queues.ts';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** What a key's limits say of its jobs reaches the queue, whether the edge calls the services in its process or over HTTP. */

const SLOTS = 4;

test.for(['one', 'each'] as const)(
  'a key with one job at a time leaves the other slots to others, and turns go to keys (%s)',
  { timeout: 60_000 },
  async (mode) => {
    await using gateway = await start(mode);
    const limited = await createKey(gateway.stack, { name: 'limited', limits: { concurrentJobs: 1 } });
    const other = await createKey(gateway.stack, { name: 'other' });
    const gate = createGate();
    for (let count = 0; count < 7; count += 1) gateway.simulator.script({ gate: gate.opened });
    const pending = Array.from({ length: 4 }, () => generate(gateway, limited));
    await using queues = lookIntoQueues(gateway.stack.redisUrl);
    await waitFor(async () => (await queues.counts()).delayed === 3);
    await waitFor(() => gateway.simulator.requests.length === 1);
    pending.push(...Array.from({ length: 3 }, () => generate(gateway, other)));
    await waitFor(() => gateway.simulator.requests.length === SLOTS);
    // The three of the other key beside the one of the limited key.
    expect(await queues.counts()).toEqual({ waiting: 0, active: SLOTS, delayed: 3 });
    gate.open();
    expect((await Promise.all(pending)).map(({ status }) => status)).toEqual(pending.map(() => 200));
  },
);

async function start(mode: 'one' | 'each'): Promise<Gateway & AsyncDisposable> {
  const gateway = await startGateway({
    mode,
    services: ['edge', 'image', 'image-worker', 'admin'],
    env: { WORKER_CONCURRENCY: `${SLOTS}` },
  });
  return { ...gateway, [Symbol.asyncDispose]: gateway.close };
}

const generate = ({ url }: Gateway, { key }: MadeKey): Promise<Response> =>
  fetch(`${url}/v1/images/generations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'dall-e-2', prompt: 'a cat', size: '256x256' }),
  });
