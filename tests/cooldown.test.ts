import { writeFile } from 'node:fs/promises';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { askAdmin } from './support/admin-keys.ts';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** Two providers before two replicas of the text service: the first one fails, and callers do not notice. */

let first: Simulator;
let gateway: Gateway;

const configuration = (origin: string, key = 'sk-first') => `
channels:
  first: { provider: simulator, baseUrl: "${first.url}", apiKey: ${key} }
  second: { provider: simulator, baseUrl: "${origin}" }
models:
  gpt-5.2: { kind: text, routes: [{ channel: first }, { channel: second, priority: 1 }] }
`;

beforeAll(async () => {
  first = await startSimulator();
  gateway = await startGateway({
    mode: 'each',
    services: ['edge', 'text', 'admin'],
    replicas: { text: 2 },
    configuration,
  });
});
afterAll(async () => {
  await gateway?.close();
  await first?.close();
});
beforeEach(async () => {
  first.reset();
  gateway.simulator.reset();
  for (const name of ['first', 'second'])
    await askAdmin(gateway.stack, 'POST', `/admin/v1/channels/${name}/wake`);
  await eachReplica((channels) => channels.every((channel) => channel === 'first'));
});

/** Requests one after the other; the channels that answered. Each must be answered. */
async function answeredBy(count: number): Promise<string[]> {
  const channels: string[] = [];
  for (let n = 0; n < count; n += 1) {
    const response = await gateway.fetch('/v1/responses', {
      json: { model: 'gpt-5.2', input: 'hello', store: false },
    });
    await response.text();
    expect(response.status).toBe(200);
    channels.push(response.headers.get('x-gateway-channel') ?? '');
  }
  return channels;
}

/** The edge uses the replicas in turn: waits until the channels that answer four requests are as expected. */
const eachReplica = (areAsExpected: (channels: readonly string[]) => boolean) =>
  waitFor(async () => areAsExpected(await answeredBy(4)));

const firstFails = (times: number): void => {
  for (let n = 0; n < times; n += 1) first.script({ status: 500 });
};

const Channels = z.object({
  data: z.array(z.object({ name: z.string(), rests: z.array(z.looseObject({ reason: z.string() })) })),
});
const restsOfFirst = async () => {
  const response = await askAdmin(gateway.stack, 'GET', '/admin/v1/channels');
  return Channels.parse(await response.json()).data.find(({ name }) => name === 'first')?.rests ?? [];
};

const logged = (message: string) => gateway.lines.filter(({ text }) => text.includes(`"msg":"${message}"`));

test('a provider that fails repeatedly gets no requests from any replica, and no request fails', async () => {
  firstFails(1000);
  expect(await answeredBy(20)).toEqual(Array(20).fill('second'));
  const [rest] = await waitFor(async () => {
    const rests = await restsOfFirst();
    return rests.length > 0 && rests;
  });
  expect(rest).toMatchObject({
    scope: 'model',
    model: 'gpt-5.2',
    reason: 'it fails to answer',
    state: 'resting',
    by: null,
  });
  await waitFor(async () => {
    const before = first.requests.length;
    await answeredBy(4);
    return first.requests.length === before;
  });
  expect(first.requests.length).toBeLessThan(20);
  expect(logged('a channel rests').length).toBeGreaterThan(0);
});

test('what rests keeps resting when all replicas are killed', async () => {
  await askAdmin(gateway.stack, 'POST', '/admin/v1/channels/first/rest', { reason: 'a story' });
  await eachReplica((channels) => channels.every((channel) => channel === 'second'));
  const seen = first.requests.length;
  for (const name of ['text', 'text-2']) {
    const { pid } = gateway.stack.process(name);
    gateway.stack.process(name).kill('SIGKILL');
    await waitFor(() => gateway.stack.process(name).pid !== pid);
  }
  await waitFor(async () => (await gateway.fetch('/v1/models')).ok);
  const ask = () =>
    gateway.fetch('/v1/responses', { json: { model: 'gpt-5.2', input: 'hello', store: false } });
  await waitFor(async () => (await ask()).ok);
  await answeredBy(8);
  expect(first.requests.length).toBe(seen);
});

test('a refused key rests until the configuration has another one, and is reported', async () => {
  await writeFile(gateway.configurationPath, configuration(gateway.simulator.url, 'sk-invalid-first'));
  await eachReplica((channels) => channels.every((channel) => channel === 'second'));
  await waitFor(async () => (await restsOfFirst()).length > 0);
  expect(await restsOfFirst()).toMatchObject([
    { scope: 'account', cause: 'credentials', reason: 'the provider refuses the API key', until: null },
  ]);
  expect(logged('a provider refuses the API key: correct it in the configuration').length).toBeGreaterThan(0);
  await writeFile(gateway.configurationPath, configuration(gateway.simulator.url, 'sk-renewed'));
  await eachReplica((channels) => channels.every((channel) => channel === 'first'));
  await waitFor(async () => (await restsOfFirst()).length === 0);
});

test('if everything rests, requests are still answered', async () => {
  for (const name of ['first', 'second'])
    await askAdmin(gateway.stack, 'POST', `/admin/v1/channels/${name}/rest`);
  expect(await answeredBy(8)).toHaveLength(8);
});
