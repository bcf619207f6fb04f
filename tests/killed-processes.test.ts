import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createGate } from '@gateway/simulator/gate';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { ONE_PROVIDER } from './support/configuration.ts';
import { wavFile } from './support/media-files.ts';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** Worker, service and Redis are killed at every step of a job: paid work is done once, and its result reaches the caller where it can. */

const TAKEOVER = { timeout: 60_000 };

const folder = await temporaryFolder();
const orders = join(folder.path, 'die-at');
const dieAt = new URL('./support/die-at.ts', import.meta.url);
dieAt.searchParams.set('orders', orders);
/** A provider that takes connections and reads nothing. */
const stuck = createServer({ pauseOnConnect: true });
let gateway: Gateway;

beforeAll(async () => {
  stuck.listen(0, '127.0.0.1');
  await once(stuck, 'listening');
  const address = stuck.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  gateway = await startGateway({
    mode: 'each',
    services: ['edge', 'image', 'image-worker', 'audio', 'audio-worker', 'admin'],
    configuration: (origin) =>
      `${ONE_PROVIDER(origin)}  stuck: { kind: image, family: gpt-image, routes: [{ channel: stuck }] }\n`.replace(
        'channels:',
        `channels:\n  stuck: { provider: simulator, baseUrl: "http://127.0.0.1:${port}", apiKey: x }`,
      ),
    env: {
      NODE_OPTIONS: `--import ${dieAt.href}`,
    },
  });
});
afterAll(async () => {
  await gateway?.close();
  stuck.close();
  await folder.close();
});
beforeEach(() => gateway.simulator.reset());

const generate = () =>
  gateway.fetch('/v1/images/generations', {
    json: { model: 'dall-e-2', prompt: 'a cat', size: '256x256', response_format: 'b64_json' },
  });

async function expectImage(pending: Promise<Response>): Promise<void> {
  const reply = await pending;
  expect([reply.status, await reply.json()]).toMatchObject([
    200,
    { data: [{ b64_json: expect.any(String) }] },
  ]);
}

async function expectUnknown(pending: Promise<Response>): Promise<void> {
  const reply = await pending;
  expect([reply.status, reply.headers.get('x-should-retry'), await reply.json()]).toMatchObject([
    502,
    'false',
    { error: { code: 'outcome_unknown' } },
  ]);
}

/** Kills a process; what is started in its place serves when this resolves. */
async function kill(name: string): Promise<void> {
  const { pid } = gateway.stack.process(name);
  gateway.stack.process(name).kill('SIGKILL');
  await waitFor(() => gateway.stack.process(name).pid !== pid);
}

test.for([
  ['before the begin', 1, expectImage],
  ['before the image is stored', 1, expectUnknown],
  ['after all is stored', 1, expectImage],
] as const)(
  'a worker killed %s: the provider makes %i image',
  TAKEOVER,
  async ([step, performed, expectReply]) => {
    const { pid } = gateway.stack.process('image-worker');
    await writeFile(orders, step);
    await expectReply(generate());
    await waitFor(() => gateway.stack.process('image-worker').pid !== pid);
    expect(gateway.simulator.requests).toHaveLength(performed);
  },
);

test('a worker killed while the provider works: the image is not made a second time', TAKEOVER, async () => {
  const gate = createGate();
  gateway.simulator.script({ gate: gate.opened });
  const pending = generate();
  await gateway.simulator.nextRequest();
  await kill('image-worker');
  await expectUnknown(pending);
  gate.open();
  expect(gateway.simulator.requests).toHaveLength(1);
});

test(
  'a worker killed while it sends: what arrived is unknown, so it is not sent again',
  TAKEOVER,
  async () => {
    const connections: unknown[] = [];
    stuck.on('connection', (socket) => connections.push(socket));
    const pending = gateway.fetch('/v1/images/generations', { json: { model: 'stuck', prompt: 'a cat' } });
    await waitFor(() => connections.length === 1);
    await kill('image-worker');
    await expectUnknown(pending);
    expect(connections).toHaveLength(1);
  },
);

test('free work of a killed worker is done again', TAKEOVER, async () => {
  const gate = createGate();
  gateway.simulator.script({ gate: gate.opened });
  const form = new FormData();
  form.append('model', 'whisper-1');
  form.append('file', wavFile(2));
  const pending = gateway.fetch('/v1/audio/transcriptions', { body: form });
  await gateway.simulator.nextRequest();
  await kill('audio-worker');
  const reply = await pending;
  expect([reply.status, await reply.json()]).toMatchObject([200, { text: expect.any(String) }]);
  gate.open();
  expect(gateway.simulator.requests).toHaveLength(2);
});

const Jobs = z.object({ data: z.array(z.object({ id: z.string(), requestId: z.string() })) });

async function jobsThatAre(status: 'queued' | 'completed') {
  const { adminUrl, adminToken } = gateway.stack;
  const headers = { authorization: `Bearer ${adminToken}` };
  const listed = await fetch(`${adminUrl}/admin/v1/jobs?status=${status}`, { headers });
  return Jobs.parse(await listed.json()).data;
}

test('a service killed while its caller waits: the job is done, once', TAKEOVER, async () => {
  const gate = createGate();
  gateway.simulator.script({ gate: gate.opened });
  const pending = gateway.fetch('/v1/images/generations', {
    json: { model: 'dall-e-2', prompt: 'a cat', size: '256x256' },
    headers: { 'x-request-id': 'req-whose-service-was-killed' },
  });
  await gateway.simulator.nextRequest();
  await kill('image');
  expect((await pending).status).toBe(502);
  gate.open();
  await waitFor(async () =>
    (await jobsThatAre('completed')).some(({ requestId }) => requestId === 'req-whose-service-was-killed'),
  );
  expect(gateway.simulator.requests).toHaveLength(1);
  await expectImage(generate());
});

test(
  'Redis killed while a job waits and while another runs: both are done, once each',
  TAKEOVER,
  async () => {
    const gate = createGate();
    for (let count = 0; count < 9; count += 1) gateway.simulator.script({ gate: gate.opened });
    // Eight run, one waits.
    const pending = Array.from({ length: 9 }, generate);
    await waitFor(
      async () => gateway.simulator.requests.length === 8 && (await jobsThatAre('queued')).length === 1,
    );
    await kill('redis');
    gate.open();
    for (const one of pending) await expectImage(one);
    expect(gateway.simulator.requests).toHaveLength(9);
  },
);
