import Anthropic from '@anthropic-ai/sdk';
import { createGate } from '@gateway/simulator/gate';
import { isLongRun } from '@gateway/testkit/is-long-run';
import { waitFor } from '@gateway/testkit/wait-for';
import OpenAI, { toFile } from 'openai';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { invoiceOf, nameAtProvider, pricedConfiguration } from './ledger/priced-models.ts';
import { createKey, type MadeKey } from './support/admin-keys.ts';
import { readBudget, readUsageRecords, type UsageLine } from './support/admin-usage.ts';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** The books of batches with many lines, whose processes are killed at every step: each line is done once, billed once, and in a result. */

const LINES = isLongRun ? 10_000 : 240;
const WORKERS = ['text-worker', 'text-worker-2'];
const KILLED = isLongRun
  ? [['text'], WORKERS, ['text', 'text-2'], ['edge'], ['text-worker'], ['text-worker-2', 'text-2']]
  : [['text'], WORKERS, ['edge']];
const ROUNDS = isLongRun ? 2 : 1;
/** A batch is at work in one process, which has at most sixteen of its lines begun when it is killed. */
const KILLED_LINES =
  16 * (2 + ROUNDS * KILLED.filter((names) => names.some((name) => /worker/.test(name))).length);
const ENOUGH_USD = 1000;
/** Of a batch of the long run; a line whose worker died waits for up to half a minute. */
const PATIENCE = { timeoutMs: isLongRun ? 1_200_000 : 180_000 };

vi.setConfig({ testTimeout: 2 * PATIENCE.timeoutMs });

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({
    mode: 'each',
    services: ['edge', 'text', 'text-worker'],
    replicas: { text: 2, 'text-worker': 2 },
    configuration: pricedConfiguration,
  });
});
afterAll(() => gateway?.close());
beforeEach(() => gateway.simulator.reset());

interface Line {
  readonly customId: string;
  readonly isDone: boolean;
  /** Of the error that the line has ended with. */
  readonly reason: string | null;
}

interface Batch {
  cancel(): Promise<unknown>;
  hasEnded(): Promise<boolean>;
  lines(): Promise<Line[]>;
}

interface Face {
  readonly model: string;
  create(key: MadeKey, customIds: readonly string[]): Promise<Batch>;
}

const linesOf = (text: string): string[] => text.split('\n').filter((line) => line !== '');

const openaiFace: Face = {
  model: 'gpt-5.2',
  create: async (key, customIds) => {
    const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key.key, maxRetries: 0 });
    const url = '/v1/chat/completions';
    const body = { model: 'gpt-5.2', messages: [{ role: 'user', content: 'Say hello.' }] };
    const text = customIds.map((custom_id) => JSON.stringify({ custom_id, method: 'POST', url, body }));
    const file = await openai.files.create({
      file: await toFile(Buffer.from(text.join('\n')), 'lines.jsonl'),
      purpose: 'batch',
    });
    const { id } = await openai.batches.create({
      input_file_id: file.id,
      endpoint: url,
      completion_window: '24h',
    });
    const read = async (fileId: string | null | undefined) =>
      fileId ? linesOf(await (await openai.files.content(fileId)).text()) : [];
    return {
      cancel: () => openai.batches.cancel(id),
      hasEnded: async () =>
        ['completed', 'cancelled', 'failed', 'expired'].includes((await openai.batches.retrieve(id)).status),
      lines: async () => {
        const batch = await openai.batches.retrieve(id);
        const all = [...(await read(batch.output_file_id)), ...(await read(batch.error_file_id))];
        return all.map((line) => {
          const { custom_id, response, error } = JSON.parse(line);
          const isDone = response?.status_code === 200;
          return {
            customId: custom_id,
            isDone,
            reason: isDone ? null : (error ?? response.body.error).code,
          };
        });
      },
    };
  },
};

const anthropicFace: Face = {
  model: 'claude',
  create: async (key, customIds) => {
    const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: key.key, maxRetries: 0 });
    const params = {
      model: 'claude',
      max_tokens: 100,
      messages: [{ role: 'user', content: 'Say hello.' }],
    } as const;
    const requests = customIds.map((custom_id) => ({
      custom_id,
      params: { ...params, messages: [...params.messages] },
    }));
    const { id } = await anthropic.messages.batches.create({ requests });
    return {
      cancel: () => anthropic.messages.batches.cancel(id),
      hasEnded: async () => (await anthropic.messages.batches.retrieve(id)).processing_status === 'ended',
      lines: async () => {
        const all: Line[] = [];
        for await (const { custom_id: customId, result } of await anthropic.messages.batches.results(id))
          all.push({
            customId,
            isDone: result.type === 'succeeded',
            reason: result.type === 'errored' ? result.error.error.type : result.type,
          });
        return all;
      },
    };
  },
};

const FACES = [
  ['/v1/batches', openaiFace],
  ['/v1/messages/batches', anthropicFace],
] as const;

const idsOf = (count: number) => Array.from({ length: count }, (_, n) => `line-${n}`);

/** A process that was killed is started again; while an edge is, nobody answers. */
const whileAway = <Result>(ask: () => Promise<Result>): Promise<Result | false> =>
  ask().catch((error: unknown) => {
    if (error instanceof OpenAI.APIError || error instanceof Anthropic.APIError) return false;
    throw error;
  });

const hasEnded = (batch: Batch) => waitFor(() => whileAway(() => batch.hasEnded()), PATIENCE);

/** Lines that the provider has answered. */
const answeredLines = (): number =>
  Object.values(gateway.simulator.ledger()).reduce((sum, { requests }) => sum + requests, 0);

/** Resolves when the provider has answered so many lines, or the batch has ended. What the gateway is asked for meanwhile keeps it from neither. */
async function progress(batch: Batch, lines: number): Promise<void> {
  let isOver = false;
  const asking = waitFor(async () => isOver || whileAway(() => batch.hasEnded()), PATIENCE).finally(() => {
    isOver = true;
  });
  asking.catch(() => undefined);
  await waitFor(() => answeredLines() >= lines || isOver, PATIENCE);
  isOver = true;
}

/** Keeps the provider from answering more than so many lines, or a few more, so that the batch is in its middle until they are released. */
function holdAfter(lines: number) {
  const gate = createGate();
  let isHeld = true;
  // More than are at work at a time.
  for (let held = 0; held < 64; held += 1)
    gateway.simulator.script(() => isHeld && answeredLines() >= lines, { gate: gate.opened });
  return {
    release: () => {
      isHeld = false;
      gate.open();
    },
  };
}

/** For who runs the long form. */
function tell(text: string): void {
  if (isLongRun) process.stdout.write(`${text}\n`);
}

const kill = async (names: readonly string[]) => {
  const processes = names.map((name) => gateway.stack.process(name));
  const over = processes.map((process) => process.ended);
  for (const process of processes) process.kill('SIGKILL');
  await Promise.all(over);
};

/** All that is written of a key's lines, once nothing is reserved any more. */
const booksOf = (key: MadeKey, count: number): Promise<UsageLine[]> =>
  waitFor(
    async () => {
      const { reserved } = await readBudget(gateway.stack, 'keys', key.id);
      if (reserved > 0) return false;
      const records = await readUsageRecords(gateway.stack, key.id);
      return records.length >= count && records;
    },
    { what: 'that all lines are settled', ...PATIENCE },
  );

const spentBy = (records: readonly UsageLine[]): number =>
  records.reduce((sum, { costMicroUsd }) => sum + costMicroUsd, 0);

const richKey = (usd: number) =>
  createKey(gateway.stack, { name: 'batches', budget: { usd, period: 'total' } });

test.each(FACES)('%s: killed at every step, each line is done once and billed once', async (path, face) => {
  const startedAt = performance.now();
  const key = await richKey(ENOUGH_USD);
  const ids = idsOf(LINES);
  const batch = await face.create(key, ids);
  // Before the first line, or while the first ones are at work.
  await kill(['text', ...WORKERS]);
  const steps = Array.from({ length: ROUNDS }, () => KILLED).flat();
  for (const [index, names] of steps.entries()) {
    const middle = ((index + 1) * LINES) / (steps.length + 1);
    const held = holdAfter(middle);
    await progress(batch, middle);
    const answered = answeredLines();
    expect(answered).toBeGreaterThanOrEqual(middle);
    expect(answered).toBeLessThan(LINES);
    await kill(names);
    held.release();
    tell(`${path}: ${names.join(' and ')} killed when ${answered} of ${LINES} lines had been answered`);
  }
  // With the last lines at work, or while the results are put together.
  await progress(batch, LINES - KILLED_LINES);
  await kill(['text-2', ...WORKERS]);
  await hasEnded(batch);

  const lines = await waitFor(() => whileAway(() => batch.lines()), PATIENCE);
  expect(lines.map(({ customId }) => customId).toSorted()).toEqual(ids.toSorted());
  const done = lines.filter(({ isDone }) => isDone);
  const unknown = lines.filter(({ isDone }) => !isDone);
  expect(unknown.length).toBeLessThanOrEqual(KILLED_LINES);

  const records = await booksOf(key, LINES);
  expect(records).toHaveLength(LINES);
  expect(new Set(records.map(({ id }) => id)).size).toBe(LINES);
  const answered = records.filter(({ outcome }) => outcome === 'ok');
  expect(answered).toHaveLength(done.length);
  // No provider saw a line twice, and all that it charges is in the books.
  const row = gateway.simulator.ledger()[nameAtProvider(face.model)];
  if (row === undefined) throw new Error('the provider has seen nothing');
  expect(row.requests).toBeGreaterThanOrEqual(done.length);
  expect(row.requests).toBeLessThanOrEqual(LINES);
  const [one] = answered;
  if (one === undefined) throw new Error('no line was answered');
  expect(answered.every(({ costMicroUsd }) => costMicroUsd === one.costMicroUsd)).toBe(true);
  if (row.requests === done.length) expect(spentBy(answered)).toBe(invoiceOf(face.model, row));
  expect(one.costMicroUsd).toBe(invoiceOf(face.model, row) / row.requests);
  expect(await readBudget(gateway.stack, 'keys', key.id)).toEqual({ spent: spentBy(records), reserved: 0 });
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  tell(`${path}: ${done.length} lines done and billed once, ${unknown.length} unknown, in ${seconds} s`);
});

test.each(FACES)(
  '%s: cancelled in the middle, each line is in a result, and what was done is billed',
  async (_path, face) => {
    const key = await richKey(ENOUGH_USD);
    const ids = idsOf(LINES);
    // However long the cancellation takes, the batch is not done before: these are more than are at work at a time.
    const held = holdAfter(LINES / 2);
    const batch = await face.create(key, ids);
    await progress(batch, LINES / 3);
    await batch.cancel();
    held.release();
    await hasEnded(batch);

    const lines = await batch.lines();
    expect(lines.map(({ customId }) => customId).toSorted()).toEqual(ids.toSorted());
    const done = lines.filter(({ isDone }) => isDone);
    expect(done.length).toBeGreaterThanOrEqual(LINES / 3);
    expect(done.length).toBeLessThan(LINES);
    const reasons = new Set(lines.flatMap(({ isDone, reason }) => (isDone ? [] : [reason])));
    expect(reasons).toEqual(new Set([face === openaiFace ? 'batch_cancelled' : 'canceled']));

    const records = await booksOf(key, done.length);
    const row = gateway.simulator.ledger()[nameAtProvider(face.model)];
    expect(row?.requests).toBe(done.length);
    expect(spentBy(records)).toBe(row && invoiceOf(face.model, row));
    expect(await readBudget(gateway.stack, 'keys', key.id)).toEqual({ spent: spentBy(records), reserved: 0 });
  },
);

test.each(FACES)(
  '%s: where the budget ends in the middle, no line beyond it is done',
  async (_path, face) => {
    const first = await richKey(ENOUGH_USD);
    await hasEnded(await face.create(first, ['probe']));
    const [probe] = await booksOf(first, 1);
    if (probe === undefined) throw new Error('the probe was not billed');
    gateway.simulator.reset();

    const budget = (probe.costMicroUsd * LINES) / 2;
    const key = await richKey(budget / 1e6);
    const ids = idsOf(LINES);
    const batch = await face.create(key, ids);
    await hasEnded(batch);

    const lines = await batch.lines();
    expect(lines.map(({ customId }) => customId).toSorted()).toEqual(ids.toSorted());
    const done = lines.filter(({ isDone }) => isDone);
    expect(done.length).toBeGreaterThan(0);
    const row = gateway.simulator.ledger()[nameAtProvider(face.model)];
    expect(row?.requests).toBe(done.length);
    const { spent, reserved } = await readBudget(gateway.stack, 'keys', key.id);
    expect(reserved).toBe(0);
    expect(spent).toBe(done.length * probe.costMicroUsd);
    expect(spent).toBeLessThanOrEqual(budget);
  },
);
