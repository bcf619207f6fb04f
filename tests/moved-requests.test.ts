import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createGate } from '@gateway/simulator/gate';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { createKey } from './support/admin-keys.ts';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** A replica of the text service is killed with a request that changes something: the edge sends it to the other one, and it is done once. */

const LASTING = { timeout: 60_000 };

const folder = await temporaryFolder();
const orders = join(folder.path, 'die-at');
const dieAt = new URL('./support/die-at.ts', import.meta.url);
dieAt.searchParams.set('orders', orders);
let gateway: Gateway;

beforeAll(async () => {
  gateway = await startGateway({
    mode: 'each',
    services: ['edge', 'text', 'text-worker', 'admin'],
    replicas: { text: 2 },
    configuration: (origin) => `
channels: { one: { provider: simulator, baseUrl: "${origin}", apiKey: k, speaks: [chat] } }
models: { over-chat: { kind: text, routes: [{ channel: one }] } }
`,
    env: { NODE_OPTIONS: `--import ${dieAt.href}` },
  });
});
afterAll(async () => {
  await gateway?.close();
  await folder.close();
});
const pids = () => ['text', 'text-2'].map((name) => gateway.stack.process(name).pid);
let pidsBefore: readonly number[] = [];
beforeEach(async () => {
  gateway.simulator.reset();
  // The edge sends requests to both replicas again after the test before.
  const before = gateway.lines.length;
  const names = ['text', 'text-2'];
  const haveAnswered = () =>
    names.every((name) =>
      gateway.lines
        .slice(before)
        .some(({ process, text }) => process === name && text.includes('"requestId"')),
    );
  await waitFor(
    async () => {
      await gateway.fetch('/v1/models').then((reply) => reply.text());
      return haveAnswered();
    },
    { timeoutMs: 30_000, what: 'that both replicas answer' },
  );
  pidsBefore = pids();
});
/** One of the replicas was killed. */
const expectKilled = () => waitFor(() => pids().some((pid, index) => pid !== pidsBefore[index]));

const Made = z.looseObject({ id: z.string(), status: z.string() });
const respond = (json: object) => gateway.fetch('/v1/responses', { json: { model: 'over-chat', ...json } });

test.for(['before the job is queued', 'before the answer'])(
  'a background response whose service is killed %s is generated once',
  LASTING,
  async (step) => {
    await writeFile(orders, step);
    const reply = await respond({ input: 'hi', background: true });
    expect(reply.status).toBe(200);
    await expectKilled();
    const { id } = Made.parse(await reply.json());
    await waitFor(async () => {
      const { status } = Made.parse(await (await gateway.fetch(`/v1/responses/${id}`)).json());
      return status === 'completed';
    });
    const { data } = z
      .object({ data: z.array(z.object({ kind: z.string(), status: z.string() })) })
      .parse(await adminJobs());
    expect(data.filter(({ status }) => status !== 'completed')).toEqual([]);
    expect(gateway.simulator.requests).toHaveLength(1);
  },
);

const adminJobs = async (): Promise<unknown> => {
  const { adminUrl, adminToken } = gateway.stack;
  const headers = { authorization: `Bearer ${adminToken}` };
  return (await fetch(`${adminUrl}/admin/v1/jobs`, { headers })).json();
};

const newConversation = async (): Promise<string> =>
  z
    .looseObject({ id: z.string() })
    .parse(await (await gateway.fetch('/v1/conversations', { json: {} })).json()).id;
const rolesIn = async (id: string): Promise<string[]> =>
  z
    .object({ data: z.array(z.looseObject({ role: z.string() })) })
    .parse(await (await gateway.fetch(`/v1/conversations/${id}/items?order=asc`)).json())
    .data.map(({ role }) => role);

test(
  'a conversation whose service is killed while the provider works gets the request and its answer once',
  LASTING,
  async () => {
    const conversation = await newConversation();
    const gate = createGate();
    gateway.simulator.script({ gate: gate.opened });
    const asked = respond({ input: 'hi', conversation });
    await gateway.simulator.nextRequest();
    await writeFile(orders, 'before the answer');
    gate.open();
    // It has been added by then.
    const reply = await asked;
    await expectKilled();
    expect([reply.status, reply.headers.get('x-should-retry'), await reply.json()]).toMatchObject([
      502,
      'false',
      { error: { code: 'outcome_unknown', message: expect.stringContaining(conversation) } },
    ]);
    expect(await rolesIn(conversation)).toEqual(['user', 'assistant']);
    expect((await respond({ input: 'and now?', conversation })).status).toBe(200);
    expect(await rolesIn(conversation)).toEqual(['user', 'assistant', 'user', 'assistant']);
  },
);

test('a killed service does not hold its conversation against the same request', LASTING, async () => {
  const conversation = await newConversation();
  const gate = createGate();
  gateway.simulator.script({ gate: gate.opened });
  const asked = respond({ input: 'hi', conversation });
  await gateway.simulator.nextRequest();
  gateway.stack.process(await busyReplica()).kill('SIGKILL');
  const reply = await asked;
  gate.open();
  expect([reply.status, await reply.json()]).toMatchObject([200, { status: 'completed' }]);
  expect(await rolesIn(conversation)).toEqual(['user', 'assistant']);
});

test('a request of a killed service counts once, and the next one finds its slot free', LASTING, async () => {
  // So few that none becomes free again while the service is restarted.
  const limits = { requestsPerMinute: 2, concurrentRequests: 1 };
  const { key } = await createKey(gateway.stack, { name: 'one at a time', limits });
  const headers = { authorization: `Bearer ${key}` };
  const ask = () => gateway.fetch('/v1/responses', { json: { model: 'over-chat', input: 'hi' }, headers });
  const gate = createGate();
  gateway.simulator.script({ gate: gate.opened });
  const asked = ask();
  await gateway.simulator.nextRequest();
  gateway.stack.process(await busyReplica()).kill('SIGKILL');
  const reply = await asked;
  gate.open();
  expect([reply.status, reply.headers.get('x-ratelimit-remaining-requests')]).toEqual([200, '1']);
  await reply.text();
  await waitFor(async () => (await ask()).status === 200);
});

test(
  'a request that is lost with its service in the middle of its stream leaves no slot taken',
  LASTING,
  async () => {
    const { key } = await createKey(gateway.stack, {
      name: 'one at a time',
      limits: { concurrentRequests: 1 },
    });
    const headers = { authorization: `Bearer ${key}` };
    const ask = (json: object) =>
      gateway.fetch('/v1/responses', { json: { model: 'over-chat', input: 'hi', ...json }, headers });
    const streamed = await ask({ input: 'Count. [[simulate tokens=500 pace=50]]', stream: true });
    expect(streamed.status).toBe(200);
    gateway.stack.process(await busyReplica()).kill('SIGKILL');
    await expect(streamed.text()).rejects.toThrow();
    await waitFor(async () => (await ask({})).status === 200, { timeoutMs: 30_000 });
  },
);

/** The replica that has a request of a caller. */
async function busyReplica(): Promise<string> {
  return waitFor(async () => {
    for (const name of ['text', 'text-2']) {
      const page = await (await fetch(`${gateway.stack.process(name).url}/metrics`)).text();
      if (/^gateway_requests_in_flight\{[^}]*\} [1-9]/m.test(page)) return name;
    }
    return false;
  });
}
