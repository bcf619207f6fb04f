import { createGate } from '@gateway/simulator/gate';
import { recordedStream } from '@gateway/simulator/recorded-stream';
import { waitFor } from '@gateway/testkit/wait-for';
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createKey, revokeKey } from './support/admin-keys.ts';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** Two of each: they share the load, and one of them can go. The tests build on each other. */

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({
    mode: 'each',
    services: ['edge', 'text', 'image', 'image-worker', 'admin'],
    replicas: { edge: 2, text: 2, image: 2, 'image-worker': 2 },
    env: { WORKER_CONCURRENCY: '1' },
    restarts: false,
  });
});
afterAll(() => gateway?.close());
beforeEach(() => gateway.simulator.reset());

const TEXT = { model: 'gpt-5.2', input: 'hello', store: false } as const;

/** How many requests a process has finished, from its log. */
const served = (name: string): number =>
  gateway.lines.filter(({ process, text }) => process === name && text.includes('"path":"/v1/responses"'))
    .length;

async function ask(count: number): Promise<number[]> {
  const statuses: number[] = [];
  for (let n = 0; n < count; n += 1) {
    const response = await gateway.fetch('/v1/responses', { json: TEXT });
    await response.text();
    statuses.push(response.status);
  }
  return statuses;
}

async function kill(name: string): Promise<void> {
  const { ended } = gateway.stack.process(name);
  gateway.stack.process(name).kill('SIGKILL');
  await ended;
}

test('requests are spread evenly over the text services', async () => {
  await ask(20);
  await waitFor(() => served('text') + served('text-2') === 20);
  expect([served('text'), served('text-2')]).toEqual([10, 10]);
});

test('image jobs are shared by the workers, whichever service took them', async () => {
  const gate = createGate();
  gateway.simulator.script({ gate: gate.opened });
  gateway.simulator.script({ gate: gate.opened });
  // Each worker runs one job at a time: both must have taken one for the provider to see two.
  const images = [1, 2].map((n) =>
    gateway.openai.images.generate({ model: 'dall-e-3', prompt: `house ${n}` }),
  );
  await gateway.simulator.nextRequest();
  await gateway.simulator.nextRequest();
  gate.open();
  const urls = (await Promise.all(images)).map(({ data }) => data?.[0]?.url ?? '');
  // Any service hands out any image, several times over.
  for (const url of [...urls, ...urls]) expect((await fetch(url)).status).toBe(200);
});

test('a worker that is killed leaves the other one at work', async () => {
  const leaving = new AbortController();
  gateway.simulator.script({ gate: new Promise(() => undefined) });
  gateway.simulator.script({ gate: new Promise(() => undefined) });
  const held = [1, 2].map((n) =>
    gateway.openai.images.generate({ model: 'dall-e-3', prompt: `held ${n}` }, { signal: leaving.signal }),
  );
  const outcomes = Promise.allSettled(held);
  const requests = [await gateway.simulator.nextRequest(), await gateway.simulator.nextRequest()];
  await kill('image-worker-2');
  leaving.abort();
  await outcomes;
  for (const request of requests) expect(await request.closed).toBe('aborted');
  expect((await gateway.openai.images.generate({ model: 'dall-e-3', prompt: 'another' })).data).toHaveLength(
    1,
  );
});

test("a text service that is killed takes only its own requests with it, and a client's repetition succeeds", async () => {
  const sse = recordedStream('responses-text');
  const gate = createGate();
  gateway.simulator.script({ sse, stallAfter: 5, resume: gate.opened });
  gateway.simulator.script({ sse, stallAfter: 5, resume: gate.opened });
  const streams = [
    await gateway.fetch('/v1/responses', { json: { ...TEXT, stream: true } }),
    await gateway.fetch('/v1/responses', { json: { ...TEXT, stream: true } }),
  ];
  gateway.simulator.script({ gate: gate.opened });
  gateway.simulator.script({ gate: gate.opened });
  const patient = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 2 });
  const whole = [patient.responses.create(TEXT), patient.responses.create(TEXT)];
  for (let n = 0; n < 4; n += 1) await gateway.simulator.nextRequest();

  await kill('text-2');
  await gateway.simulator.nextRequest();
  gate.open();
  expect((await Promise.all(whole)).map(({ status }) => status)).toEqual(['completed', 'completed']);
  const ends = await Promise.allSettled(streams.map((stream) => stream.text()));
  expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  expect(ends).toContainEqual({ status: 'fulfilled', value: sse.toString() });
});

test('from then on the other one serves all', async () => {
  expect(new Set(await ask(20))).toEqual(new Set([200]));
});

test('a key that is revoked is refused on all edges within a second', async () => {
  const { id, key } = await createKey(gateway.stack, { name: 'to be revoked' });
  const edges = [gateway.stack.edgeUrl, gateway.stack.process('edge-2').url];
  const statuses = () =>
    Promise.all(
      edges.map(async (url) => {
        const headers = { authorization: `Bearer ${key}` };
        const response = await fetch(`${url}/v1/responses/resp_none`, { headers });
        await response.text();
        return response.status;
      }),
    );
  expect(await statuses()).toEqual([404, 404]);
  await revokeKey(gateway.stack, id);
  const revokedAtMs = performance.now();
  for (;;) {
    const sentAfterMs = performance.now() - revokedAtMs;
    if ((await statuses()).every((status) => status === 401)) return;
    // Some edge still took it: that may be only for what was sent within the second.
    expect(sentAfterMs).toBeLessThan(1000);
  }
});
