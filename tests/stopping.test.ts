import { createGate } from '@gateway/simulator/gate';
import { recordedStream } from '@gateway/simulator/recorded-stream';
import { collectSse, readSse } from '@gateway/testkit/collect-sse';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** SIGTERM: what is under way ends well, or gets an error; every caller is answered. */

const DRAIN_TIMEOUT_MS = 3000;

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({
    mode: 'each',
    services: ['edge', 'text', 'image', 'image-worker'],
    env: { DRAIN_TIMEOUT_MS: String(DRAIN_TIMEOUT_MS) },
  });
});
afterAll(() => gateway?.close());
beforeEach(() => gateway.simulator.reset());

const never = new Promise<void>(() => undefined);

const STREAMS = {
  responses: {
    path: '/v1/responses',
    json: { model: 'gpt-5.2', input: 'x', stream: true },
    sse: recordedStream('responses-text'),
    ending: ['error', 'response.failed', undefined],
  },
  messages: {
    path: '/v1/messages',
    json: {
      model: 'claude-sonnet-5-5',
      max_tokens: 9,
      messages: [{ role: 'user', content: 'x' }],
      stream: true,
    },
    sse: recordedStream('messages-text'),
    ending: ['error'],
  },
} as const;
type Stream = (typeof STREAMS)[keyof typeof STREAMS];

/** A stream after its first delta; the rest comes with `resume`. */
async function open({ path, json, sse }: Stream, resume: Promise<void>): Promise<Response> {
  gateway.simulator.script(path, { sse, stallAfter: 5, resume });
  return gateway.fetch(path, { json });
}

/** Sends SIGTERM and waits until the process has begun to stop. */
async function terminate(
  name: string,
): Promise<{ readonly stopping: Promise<string>; readonly pid: number }> {
  const process = gateway.stack.process(name);
  const { pid, ended } = process;
  const before = gateway.lines.length;
  process.kill('SIGTERM');
  await waitFor(() => gateway.lines.slice(before).some((line) => line.process === name && isStopping(line)));
  return { stopping: ended, pid };
}

const isStopping = ({ text }: { text: string }): boolean => text.includes('"msg":"stopping"');

const isBack = (name: string, pid: number) =>
  waitFor(async () => gateway.stack.process(name).pid !== pid && (await isAnswered()), {
    what: `${name} again`,
  });

async function isAnswered(): Promise<boolean> {
  const response = await gateway.fetch('/v1/messages', { json: { ...STREAMS.messages.json, stream: false } });
  await response.text();
  return response.ok;
}

test.for(['text', 'edge'])('%s: open streams finish within the deadline', async (name) => {
  const gate = createGate();
  const streams = Object.values(STREAMS);
  const replies = await Promise.all(streams.map((stream) => open(stream, gate.opened)));
  const { stopping, pid } = await terminate(name);
  gate.open();
  const texts = await Promise.all(replies.map((reply) => reply.text()));
  expect(texts).toEqual(streams.map(({ sse }) => sse.toString()));
  expect(await stopping).toBe('exit code 0');
  await isBack(name, pid);
});

test("text: what is left at the deadline gets its protocol's error", async () => {
  const streams = Object.values(STREAMS);
  const replies = await Promise.all(streams.map((stream) => open(stream, never)));
  gateway.simulator.script({ gate: never });
  const waiting = gateway.fetch('/v1/responses', { json: { ...STREAMS.responses.json, stream: false } });
  await waitFor(() => gateway.simulator.requests.length === 3);
  const { stopping, pid } = await terminate('text');
  const events = await Promise.all(replies.map((reply) => collectSse(reply)));
  for (const [index, { ending }] of streams.entries())
    expect(events[index]?.slice(5).map(({ event }) => event)).toEqual(ending);
  const answer = await waiting;
  expect(answer.status).toBe(503);
  expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
  expect(await answer.json()).toMatchObject({ error: { type: 'server_error', code: 'shutting_down' } });
  expect(await stopping).toBe('exit code 0');
  expect(gateway.simulator.requests.map(({ aborted }) => aborted)).toEqual([true, true, true]);
  await isBack('text', pid);
});

test('edge: what is left at the deadline gets an error where no reply has begun, and is cut where one has', async () => {
  const reply = await open(STREAMS.responses, never);
  gateway.simulator.script({ gate: never });
  const waiting = gateway.fetch('/v1/messages', { json: { ...STREAMS.messages.json, stream: false } });
  await waitFor(() => gateway.simulator.requests.length === 2);
  const { stopping, pid } = await terminate('edge');
  const events: unknown[] = [];
  const read = async () => {
    for await (const { event } of readSse(reply)) events.push(event);
  };
  await expect(read()).rejects.toThrow();
  expect(events).toHaveLength(5);
  const answer = await waiting;
  expect(answer.status).toBe(529);
  expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
  expect(await answer.json()).toMatchObject({ type: 'error', error: { type: 'overloaded_error' } });
  expect(await stopping).toBe('exit code 0');
  await isBack('edge', pid);
});

test.for(['SIGTERM', 'SIGKILL'] as const)(
  'requests while text is restarted (%s) succeed or get an error with a retry-after',
  async (signal) => {
    const { pid } = gateway.stack.process('text');
    let over = false;
    const statuses = new Set<number>();
    const ask = async () => {
      while (!over) {
        const response = await gateway.fetch('/v1/responses', {
          json: { model: 'gpt-5.2', input: 'x', store: false },
        });
        const body = await response.json();
        statuses.add(response.status);
        if (response.status === 200) expect(body).toMatchObject({ status: 'completed' });
        else expect(response.headers.get('retry-after')).toMatch(/^\d+$/);
      }
    };
    const asking = Promise.all([ask(), ask(), ask()]);
    await waitFor(() => statuses.has(200));
    gateway.stack.process('text').kill(signal);
    await isBack('text', pid);
    over = true;
    await asking;
    expect([...statuses].sort()).toEqual([200, 503]);
  },
);

test('an image job is finished before its worker stops', async () => {
  const gate = createGate();
  gateway.simulator.script({ gate: gate.opened });
  const image = gateway.openai.images.generate({ model: 'dall-e-3', prompt: 'a house' });
  await gateway.simulator.nextRequest();
  const { stopping } = await terminate('image-worker');
  gate.open();
  expect((await image).data).toHaveLength(1);
  expect(await stopping).toBe('exit code 0');
});

test('the whole gateway: streams finish, then all processes are gone', async () => {
  const gate = createGate();
  const reply = await open(STREAMS.messages, gate.opened);
  const all = gateway.stack.processes.map(({ ended }) => ended);
  const before = gateway.lines.length;
  const stopped = gateway.stack.stop();
  await waitFor(() =>
    ['edge', 'text'].every((name) =>
      gateway.lines.slice(before).some((line) => line.process === name && isStopping(line)),
    ),
  );
  gate.open();
  expect(await reply.text()).toBe(STREAMS.messages.sse.toString());
  await stopped;
  expect(new Set(await Promise.all(all))).toEqual(new Set(['exit code 0']));
});
