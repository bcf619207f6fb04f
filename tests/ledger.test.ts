import Anthropic from '@anthropic-ai/sdk';
import type { UsageOutcome } from '@gateway/contracts/usage/usage-record';
import { createGate } from '@gateway/simulator/gate';
import { isLongRun } from '@gateway/testkit/is-long-run';
import { waitFor } from '@gateway/testkit/wait-for';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Caller } from './ledger/caller.ts';
import { MIXED_REQUESTS } from './ledger/mixed-requests.ts';
import { invoiceOf, MODELS, mostOf, nameAtProvider, pricedConfiguration } from './ledger/priced-models.ts';
import { askAdmin, createKey, type MadeKey } from './support/admin-keys.ts';
import { readBudget, readUsage, readUsageRecords, type UsageLine } from './support/admin-usage.ts';
import { type JobQueues, lookIntoQueues } from './support/job-queues.ts';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** Hundreds of requests of all kinds, through two of everything: the books are the provider's. The tests build on each other. */

const AT_ONCE = 16;
const ROUNDS = isLongRun ? 15 : 6;
const WORKERS = 2;
const JOBS_AT_A_TIME = 4;
/** Jobs that are cancelled in the queue, after those that the workers hold. */
const CANCELLED = 12;

let gateway: Gateway;
let queues: JobQueues;
let key: MadeKey;
let callers: readonly Caller[];
let records: readonly UsageLine[];

beforeAll(async () => {
  gateway = await startGateway({
    mode: 'each',
    configuration: pricedConfiguration,
    replicas: { edge: 2, text: 2, image: 2, 'image-worker': WORKERS, audio: 2, 'audio-worker': WORKERS },
    env: { WORKER_CONCURRENCY: String(JOBS_AT_A_TIME) },
    restarts: false,
  });
  queues = lookIntoQueues(gateway.stack.redisUrl);
  const budget = { usd: 1000, period: 'total' };
  await askAdmin(gateway.stack, 'POST', '/admin/v1/teams', { name: 'mixed', budget });
  key = await createKey(gateway.stack, { name: 'mixed', team: 'mixed', budget });
  callers = ['edge', 'edge-2'].map((name) => callerAt(gateway.stack.process(name).url ?? ''));
});
afterAll(async () => {
  await queues?.[Symbol.asyncDispose]();
  await gateway?.close();
});

function callerAt(url: string): Caller {
  const { simulator } = gateway;
  const apiKey = key.key;
  return {
    simulator,
    openai: new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 }),
    anthropic: new Anthropic({ baseURL: url, apiKey, maxRetries: 0 }),
    fetch: (path, { json, headers, ...init } = {}) =>
      fetch(`${url}${path}`, {
        method: 'POST',
        ...init,
        headers: {
          authorization: `Bearer ${apiKey}`,
          ...(json === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(json === undefined ? {} : { body: JSON.stringify(json) }),
      }),
  };
}

/** How often each model's requests have ended how. */
type Counts = Record<string, number>;
const expected: Counts = {};
let expectedBroken = 0;
const count = (model: string, outcome: UsageOutcome, times = 1): void => {
  const name = `${model} ${outcome}`;
  expected[name] = (expected[name] ?? 0) + times;
};

async function allAtOnce(tasks: readonly (() => Promise<unknown>)[], atOnce: number): Promise<void> {
  const waiting = tasks.values();
  const run = async () => {
    for (const task of waiting) await task();
  };
  await Promise.all(Array.from({ length: atOnce }, run));
}

test('requests of all kinds are sent, sixteen at a time, to both edges', async () => {
  const tasks = Array.from({ length: ROUNDS }, (_, round) =>
    MIXED_REQUESTS.map((request, index) => async () => {
      const caller = callers[(round + index) % callers.length];
      if (caller === undefined) throw new Error('no caller');
      await request.send(caller, `Request ${round}-${index}, of many.`);
      if (request.outcome !== null) count(request.model, request.outcome);
      if (request.breaksReply) expectedBroken += 1;
    }),
  ).flat();
  await allAtOnce(tasks, AT_ONCE);
  expect(tasks).toHaveLength(ROUNDS * MIXED_REQUESTS.length);
});

test('jobs are cancelled while they wait in the line', async () => {
  const gate = createGate();
  const [caller] = callers;
  const held = WORKERS * JOBS_AT_A_TIME;
  const image = (name: string, signal: AbortSignal | null = null) =>
    caller?.fetch('/v1/images/generations', { json: { model: 'dall-e-2', prompt: name }, signal });
  for (let n = 0; n < held; n += 1)
    gateway.simulator.script(({ body }) => body.includes('held'), { gate: gate.opened });
  const made = Array.from({ length: held }, (_, n) => image(`held ${n}`));
  for (let n = 0; n < held; n += 1) await gateway.simulator.nextRequest(({ body }) => body.includes('held'));

  const leaving = new AbortController();
  const waiting = Array.from({ length: CANCELLED }, (_, n) => image(`waiting ${n}`, leaving.signal));
  const left = Promise.allSettled(waiting);
  await waitFor(async () => (await queues.counts()).waiting === CANCELLED);
  leaving.abort();
  expect(new Set((await left).map(({ status }) => status))).toEqual(new Set(['rejected']));
  await waitFor(async () => (await queues.counts()).waiting === 0);

  gate.open();
  for (const response of await Promise.all(made)) {
    expect(response?.status).toBe(200);
    await response?.arrayBuffer();
  }
  count('dall-e-2', 'ok', held);
  count('dall-e-2', 'cancelled', CANCELLED);
});

test('each request is counted exactly once, as it ended', async () => {
  const total = Object.values(expected).reduce((sum, each) => sum + each, 0);
  await waitFor(
    async () => {
      const { reserved } = await readBudget(gateway.stack, 'keys', key.id);
      return reserved === 0 && (await readUsageRecords(gateway.stack, key.id)).length >= total;
    },
    { what: 'that all is settled' },
  );
  records = await readUsageRecords(gateway.stack, key.id);
  const counts: Counts = {};
  for (const { model, outcome } of records)
    counts[`${model} ${outcome}`] = (counts[`${model} ${outcome}`] ?? 0) + 1;
  expect(counts).toEqual(expected);
  expect(new Set(records.map(({ id }) => id)).size).toBe(total);

  const sums = await readUsage(gateway.stack, key.id);
  expect(
    Object.fromEntries(sums.map(({ model, outcome, requests }) => [`${model} ${outcome}`, requests])),
  ).toEqual(expected);
});

test.for(Object.keys(MODELS).filter((model) => model !== 'silent'))(
  'what %s cost is what the provider counted, to the micro-dollar',
  async (model) => {
    const row = gateway.simulator.ledger()[nameAtProvider(model)];
    const sums = await readUsage(gateway.stack, key.id);
    const usage = sums.find((sum) => sum.model === model && sum.outcome === 'ok');
    if (row === undefined || usage === undefined) throw new Error(`${model} was not used`);
    expect(usage).toMatchObject({
      requests: row.requests,
      images: row.images,
      costMicroUsd: invoiceOf(model, row),
      unpricedRequests: 0,
    });
    expect(usage.costMicroUsd).toBeGreaterThan(0);
    if (MODELS[model]?.kind === 'text')
      expect(usage).toMatchObject({
        inputTokens: row.inputTokens,
        cachedInputTokens: row.cachedInputTokens,
        outputTokens: row.outputTokens,
        reasoningTokens: row.reasoningTokens,
      });
    expect(records.filter((each) => each.model === model && each.outcome === 'ok' && each.estimated)).toEqual(
      [],
    );
  },
);

test('a stream that does not tell its usage is charged as estimated, and not too little', async () => {
  const row = gateway.simulator.ledger()[nameAtProvider('silent')];
  if (row === undefined) throw new Error('it was not used');
  const charged = records.filter(({ model }) => model === 'silent');
  expect(charged.filter(({ estimated }) => !estimated)).toEqual([]);
  const cost = charged.reduce((sum, { costMicroUsd }) => sum + costMicroUsd, 0);
  expect(cost).toBeGreaterThanOrEqual(invoiceOf('silent', row));
  expect(cost).toBeLessThanOrEqual(row.requests * mostOf('silent'));
});

test('the provider has seen no request more than the books tell', () => {
  const rows = Object.values(gateway.simulator.ledger());
  expect(rows.reduce((sum, { requests }) => sum + requests, 0)).toBe(
    records.filter(({ outcome }) => outcome === 'ok').length,
  );
  expect(rows.reduce((sum, { broken }) => sum + broken, 0)).toBe(expectedBroken);
});

test('what was not answered whole costs at most what was reserved for it, and nothing if nothing was begun', () => {
  for (const record of records.filter(({ outcome }) => outcome !== 'ok')) {
    const { model, outcome, estimated, costMicroUsd } = record;
    expect(costMicroUsd, JSON.stringify(record)).toBeLessThanOrEqual(mostOf(model));
    if (estimated || outcome === 'cut') expect(costMicroUsd, JSON.stringify(record)).toBeGreaterThan(0);
    // Those of dall-e-2 were cancelled in the line.
    if (outcome === 'failed' || model === 'dall-e-2')
      expect(record).toMatchObject({ estimated: false, costMicroUsd: 0 });
  }
});

test('nothing stays reserved, and what is spent is the sum of the records', async () => {
  const spent = records.reduce((sum, { costMicroUsd }) => sum + costMicroUsd, 0);
  for (const [of, id] of [
    ['keys', key.id],
    ['teams', 'mixed'],
  ] as const)
    expect(await readBudget(gateway.stack, of, id)).toEqual({ spent, reserved: 0 });
});
