import { BatchResultLine } from '@gateway/contracts/batch';
import { PublicJob } from '@gateway/contracts/jobs';
import { createGate } from '@gateway/simulator/gate';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** Batches continue when their processes are killed or stopped, and no line is paid twice. */

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({
    mode: 'each',
    services: ['edge', 'image', 'image-worker'],
    replicas: { image: 2 },
  });
});
afterAll(() => gateway?.close());
beforeEach(() => gateway.simulator.reset());

const GENERATIONS = '/v1/images/generations';
const LINES = 60;
const body = Array.from({ length: LINES }, (_, n) =>
  JSON.stringify({
    custom_id: `cat ${n}`,
    method: 'POST',
    url: GENERATIONS,
    body: { model: 'dall-e-3', prompt: `cat ${n}` },
  }),
).join('\n');

/** Makes a batch with some lines done and others held at the provider. */
async function begunBatch() {
  const gate = createGate();
  for (let n = 0; n < 10; n += 1) gateway.simulator.script(GENERATIONS, {});
  for (let n = 0; n < 8; n += 1) gateway.simulator.script(GENERATIONS, { gate: gate.opened });
  const headers = { 'content-type': 'application/jsonl' };
  const reply = await gateway.fetch('/v1/images/jobs', { body, headers });
  expect(reply.status).toBe(202);
  await waitFor(() => gateway.simulator.requests.length === 18);
  return { gate, path: reply.headers.get('location') ?? '' };
}

const jobAt = async (path: string) => {
  const reply = await gateway.fetch(path);
  return reply.status === 200 && PublicJob.parse(await reply.json());
};

async function resultsOf(path: string) {
  const text = await (await gateway.fetch(`${path}/result`)).text();
  return text
    .trimEnd()
    .split('\n')
    .map((line) => BatchResultLine.parse(JSON.parse(line)));
}

/** They are started again. */
async function end(signal: 'SIGKILL' | 'SIGTERM', ...names: string[]): Promise<void> {
  const processes = names.map((name) => gateway.stack.process(name));
  const ended = processes.map((process) => process.ended);
  for (const process of processes) process.kill(signal);
  await Promise.all(ended);
}

const sentPrompts = () =>
  gateway.simulator.requests.map(({ body: sent }) => /cat \d+/.exec(sent.toString())?.[0]);

const ENDINGS = ['SIGKILL', 'SIGTERM'] as const;
test.each(ENDINGS)(
  'both services get %s in the middle of a batch: it is continued, and each line is done once',
  async (signal) => {
    const { gate, path } = await begunBatch();
    await end(signal, 'image', 'image-2');
    gate.open();
    const done = await waitFor(
      async () => {
        const job = await jobAt(path);
        return job && job.status === 'completed' && job;
      },
      { timeoutMs: 60_000 },
    );
    expect(done.counts).toEqual({ total: LINES, completed: LINES, failed: 0 });
    const results = await resultsOf(path);
    expect(results.map(({ custom_id }) => custom_id)).toEqual(
      Array.from({ length: LINES }, (_, n) => `cat ${n}`),
    );
    expect(results.every(({ response }) => response?.status_code === 200)).toBe(true);
    expect(sentPrompts()).toHaveLength(LINES);
    expect(new Set(sentPrompts()).size).toBe(LINES);
  },
);

test('the worker is killed in the middle of a batch: lines that may have been paid are not repeated, the others done', async () => {
  const { gate, path } = await begunBatch();
  await end('SIGKILL', 'image-worker');
  gate.open();
  const done = await waitFor(
    async () => {
      const job = await jobAt(path);
      return job && job.status === 'completed' && job;
    },
    { timeoutMs: 60_000 },
  );
  expect(done.counts).toEqual({ total: LINES, completed: LINES - 8, failed: 8 });
  const unknown = (await resultsOf(path)).filter(({ response }) => response?.status_code === 502);
  expect(unknown).toHaveLength(8);
  expect(unknown[0]?.response?.body).toMatchObject({ error: { code: 'outcome_unknown' } });
  expect(sentPrompts()).toHaveLength(LINES);
  expect(new Set(sentPrompts()).size).toBe(LINES);
});
