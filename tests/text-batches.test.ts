import { createGate } from '@gateway/simulator/gate';
import { waitFor } from '@gateway/testkit/wait-for';
import OpenAI, { toFile } from 'openai';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** Batches of text requests continue when their processes are killed or stopped: each line is done once and billed once. */

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({
    mode: 'each',
    services: ['edge', 'text', 'text-worker'],
    replicas: { text: 2 },
    env: { TEXT_BATCH_CONCURRENCY: '8' },
  });
});
afterAll(() => gateway?.close());
beforeEach(() => gateway.simulator.reset());

const CHAT = '/v1/chat/completions';
const EMBEDDINGS = '/v1/embeddings';
type Url = typeof CHAT | typeof EMBEDDINGS;
const bodyOf = (url: Url, content: string) =>
  url === CHAT
    ? { model: 'gpt-5.2', messages: [{ role: 'user', content }] }
    : { model: 'text-embedding-3-small', input: content, dimensions: 2 };
const LINES = 60;
/** A line whose worker died is taken over at the latest when it has been silent for half a minute. */
const TAKEOVER = { timeoutMs: 90_000 };

/** Makes a batch with some lines done and others held at the provider. */
async function begunBatch(url: Url = CHAT) {
  const gate = createGate();
  for (let n = 0; n < 10; n += 1) gateway.simulator.script(url, {});
  for (let n = 0; n < 8; n += 1) gateway.simulator.script(url, { gate: gate.opened });
  const lines = Array.from({ length: LINES }, (_, n) =>
    JSON.stringify({
      custom_id: `line ${n}`,
      method: 'POST',
      url,
      body: bodyOf(url, `line ${n}`),
    }),
  );
  const { openai } = gateway;
  const file = await openai.files.create({
    file: await toFile(Buffer.from(lines.join('\n')), 'lines.jsonl'),
    purpose: 'batch',
  });
  const batch = await openai.batches.create({
    input_file_id: file.id,
    endpoint: url,
    completion_window: '24h',
  });
  await waitFor(() => gateway.simulator.requests.length === 18);
  return { gate, id: batch.id };
}

/** While a service is started again, the edge has nobody to ask. */
const ended = (id: string) =>
  waitFor(async () => {
    const batch = await gateway.openai.batches.retrieve(id).catch((error: unknown) => {
      if (error instanceof OpenAI.APIError) return null;
      throw error;
    });
    return batch !== null && ['completed', 'failed', 'expired'].includes(batch.status) && batch;
  }, TAKEOVER);

interface ResultLine {
  readonly custom_id: string;
  readonly response: { readonly status_code: number; readonly body: unknown };
}

async function linesIn(fileId: string | null | undefined): Promise<ResultLine[]> {
  if (!fileId) return [];
  const text = await (await gateway.openai.files.content(fileId)).text();
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

/** They are started again. */
async function end(signal: 'SIGKILL' | 'SIGTERM', ...names: string[]): Promise<void> {
  const processes = names.map((name) => gateway.stack.process(name));
  const over = processes.map((process) => process.ended);
  for (const process of processes) process.kill(signal);
  await Promise.all(over);
}

const sentLines = () => gateway.simulator.requests.map(({ body }) => /line \d+/.exec(body.toString())?.[0]);

/** What the worker that has done a line has written of it. */
const billedLines = () =>
  gateway.lines
    .map(({ text }) => text)
    .filter((line) => line.includes('"kind":"text.line"'))
    .map((line): { usageId: string } => JSON.parse(line));

const everyLine = Array.from({ length: LINES }, (_, n) => `line ${n}`);

const ENDINGS = ['SIGKILL', 'SIGTERM'] as const;
test.each(ENDINGS)(
  'both services get %s in the middle of a batch: it is continued, and each line is done once',
  async (signal) => {
    const before = billedLines().length;
    const { gate, id } = await begunBatch();
    await end(signal, 'text', 'text-2');
    gate.open();
    const batch = await ended(id);
    expect(batch.request_counts).toEqual({ total: LINES, completed: LINES, failed: 0 });
    const results = await linesIn(batch.output_file_id);
    expect(results.map(({ custom_id }) => custom_id)).toEqual(everyLine);
    expect(results.every(({ response }) => response.status_code === 200)).toBe(true);
    expect(sentLines().toSorted()).toEqual(everyLine.toSorted());
    const billed = await waitFor(() => {
      const lines = billedLines().slice(before);
      return lines.length >= LINES && lines;
    });
    expect(new Set(billed.map(({ usageId }) => usageId)).size).toBe(LINES);
  },
);

test.each([CHAT, EMBEDDINGS] as const)(
  'the worker is killed in the middle of a batch of %s: lines that may have been paid are not repeated, the others done',
  async (url) => {
    const { gate, id } = await begunBatch(url);
    await end('SIGKILL', 'text-worker');
    gate.open();
    const batch = await ended(id);
    expect(batch.request_counts).toEqual({ total: LINES, completed: LINES - 8, failed: 8 });
    const unknown = await linesIn(batch.error_file_id);
    expect(unknown).toHaveLength(8);
    for (const { response } of unknown)
      expect(response).toMatchObject({ status_code: 502, body: { error: { code: 'outcome_unknown' } } });
    const done = await linesIn(batch.output_file_id);
    expect([...done, ...unknown].map(({ custom_id }) => custom_id).toSorted()).toEqual(everyLine.toSorted());
    expect(sentLines().toSorted()).toEqual(everyLine.toSorted());
  },
);

test('the worker is stopped in the middle of a batch: lines at work end, the next one goes on, and each line is done once', async () => {
  const before = billedLines().length;
  const { gate, id } = await begunBatch();
  const stopped = end('SIGTERM', 'text-worker');
  gate.open();
  await stopped;
  const batch = await ended(id);
  expect(batch.request_counts).toEqual({ total: LINES, completed: LINES, failed: 0 });
  const results = await linesIn(batch.output_file_id);
  expect(results.map(({ custom_id }) => custom_id)).toEqual(everyLine);
  expect(sentLines().toSorted()).toEqual(everyLine.toSorted());
  await waitFor(() => billedLines().slice(before).length >= LINES);
});
