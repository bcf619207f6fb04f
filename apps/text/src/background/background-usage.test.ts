import { UsageRecord } from '@gateway/contracts/usage/usage-record';
import { redisNames } from '@gateway/metering/redis-names';
import { emptyRedis } from '@gateway/metering/testing/records-in-redis';
import { createGate } from '@gateway/simulator/gate';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { collectSse, readSse } from '@gateway/testkit/collect-sse';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { waitFor } from '@gateway/testkit/wait-for';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { startText, type TextUnderTest } from '../testing/start-text.ts';

let server: TestRedis;
let redis: Redis;
let simulator: Simulator;
let texts: TextUnderTest[] = [];

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
  simulator = await startSimulator();
});
beforeEach(async () => {
  await emptyRedis(redis);
  simulator.reset();
});
afterEach(async () => {
  await Promise.all(texts.map((text) => text.close()));
  texts = [];
});
afterAll(async () => {
  await simulator.close();
  redis.disconnect();
  await server.close();
});

const configuration = (): string => `
channels:
  one: { provider: simulator, baseUrl: "${simulator.url}", apiKey: k }
models:
  priced:
    kind: text
    maxOutputTokens: 1000
    routes: [{ channel: one }]
    price: { inputPerMTok: 10, outputPerMTok: 1000 }
`;

/** A replica that looks every few milliseconds, or one that practically never does. */
const start = async (
  looks: 'often' | 'never' = 'often',
  { giveUpMs = 60_000 } = {},
): Promise<TextUnderTest> => {
  const backgroundPollMs = looks === 'often' ? 10 : 3_600_000;
  const text = await startText({
    redis,
    configuration: configuration(),
    backgroundPollMs,
    backgroundGiveUpMs: giveUpMs,
  });
  texts.push(text);
  return text;
};

const identity = {
  accounts: [
    {
      owner: 'key_one',
      limits: {},
      budget: { microUsd: 100_000_000, period: 'total' as const, allowUnpriced: false },
    },
  ],
};

/** Starts a response in the background, which ends when the gate is opened. */
const begin = async (text: TextUnderTest, more: object = {}) => {
  const gate = createGate();
  simulator.script('/v1/responses', { resume: gate.opened });
  const reply = await text.fetch('/v1/responses', {
    body: { model: 'priced', input: 'hi there', background: true, ...more },
    identity,
  });
  expect(reply.status).toBe(200);
  const { id, status } = Object(await reply.json());
  expect(status).toBe('queued');
  return { id: String(id), end: () => gate.open() };
};

const records = async (): Promise<UsageRecord[]> => {
  const day = new Date().toISOString().slice(0, 10);
  const entries = await redis.xrange(redisNames.records(day), '-', '+');
  return entries.map(([, [, record = '']]) => UsageRecord.parse(JSON.parse(record)));
};

const budget = () => redis.hgetall(redisNames.account('key_one', 'total'));

/** Everything that looks and settles has come to rest: nothing is pending and nothing reserved. */
const atRest = () =>
  waitFor(async () => {
    const pending = await redis.hlen('gateway:{background}:pending');
    const open = await redis.zcard(redisNames.openReservations);
    return pending === 0 && open === 0;
  });

const USED = {
  outcome: 'ok',
  channel: 'one',
  endpoint: 'responses',
  model: 'priced',
  estimated: false,
  consumption: { inputTokens: 2, outputTokens: 5 },
  costMicroUsd: 2 * 10 + 5 * 1000,
  detail: { upstreamMs: expect.any(Number), unitPrices: { input: 10, output: 1000 } },
};

const bookedLines = (text: TextUnderTest) =>
  text.lines.filter(({ msg }) => msg === 'background response ended');

test('what a response used is booked when it has ended, though nobody reads it', async () => {
  const text = await start();
  const { id, end } = await begin(text);
  // It is looked at while it works, and nothing is booked but the reservation.
  await waitFor(() => simulator.requests.some(({ method }) => method === 'GET'));
  expect(await records()).toEqual([]);
  expect(Number((await budget()).reserved)).toBeGreaterThan(1_000_000 - 1);
  const line = await waitFor(() => text.lines.find(({ usagePending }) => usagePending === true));

  end();
  await atRest();
  expect(await records()).toMatchObject([USED]);
  expect(await budget()).toMatchObject({ spent: String(USED.costMicroUsd), reserved: '0' });
  expect(bookedLines(text)).toMatchObject([
    {
      responseId: id,
      usageId: line.usageId,
      keyId: 'key_one',
      model: 'priced',
      channel: 'one',
      outcome: 'ok',
      inputTokens: 2,
      outputTokens: 5,
      costMicroUsd: USED.costMicroUsd,
    },
  ]);
});

test.for(['looked at', 'read'])('the answer of a background response is kept when it is %s', async (how) => {
  const text = await start(how === 'read' ? 'never' : 'often');
  const { id, end } = await begin(text);
  const waiting = await text.fetch(`/v1/responses/${id}`);
  expect(Object(await waiting.json()).status).not.toBe('completed');
  end();
  if (how === 'looked at') await atRest();
  else
    await waitFor(
      async () => Object(await (await text.fetch(`/v1/responses/${id}`)).json()).status === 'completed',
    );
  simulator.reset();
  const stored = Object(await (await text.fetch(`/v1/responses/${id}`)).json());
  expect(stored).toMatchObject({ id, status: 'completed', output: [{ type: 'message' }] });
  expect(simulator.requests).toEqual([]);
  const next = await text.fetch('/v1/responses', {
    body: { model: 'priced', input: 'and?', previous_response_id: id },
    identity,
  });
  // The provider has forgotten it, and is sent all of it.
  expect(next.status).toBe(200);
  expect(String(simulator.requests.at(-1)?.body)).toContain('hi there');
});

test('a caller who sees the end has it booked, where nobody else looks', async () => {
  const text = await start('never');
  const { id, end } = await begin(text);
  await text.fetch(`/v1/responses/${id}`);
  expect(await records()).toEqual([]);
  end();
  await waitFor(
    async () => Object(await (await text.fetch(`/v1/responses/${id}`)).json()).status === 'completed',
  );
  await atRest();
  await text.fetch(`/v1/responses/${id}`);
  expect(await records()).toMatchObject([USED]);
  expect(bookedLines(text)).toHaveLength(1);
});

test('a caller who replays the stream to its end has it booked as well', async () => {
  const text = await start('never');
  const { id, end } = await begin(text);
  end();
  await collectSse(await text.fetch(`/v1/responses/${id}?stream=true`));
  await atRest();
  expect(await records()).toMatchObject([USED]);
});

test('two replicas that look, and callers who read at the same time, book it once', async () => {
  const replicas = [await start(), await start(), await start('never')];
  const [first = await start()] = replicas;
  const begun = await Promise.all(Array.from({ length: 5 }, () => begin(first)));
  for (const { end } of begun) end();
  await Promise.all(
    begun.flatMap(({ id }) =>
      replicas.map((text) =>
        waitFor(
          async () => Object(await (await text.fetch(`/v1/responses/${id}`)).json()).status === 'completed',
        ),
      ),
    ),
  );
  await atRest();
  expect(await records()).toHaveLength(5);
  expect(replicas.flatMap(bookedLines)).toHaveLength(5);
  expect(await budget()).toMatchObject({ spent: String(5 * USED.costMicroUsd), reserved: '0' });
});

test('another replica takes over after the process that began it has ended', async () => {
  const before = await start('never');
  const { end } = await begin(before);
  await waitFor(() => before.lines.find(({ usagePending }) => usagePending === true));
  await before.close();
  texts = [];
  end();
  // It is due now, and not in the hour that this replica waits.
  const due = 'gateway:{background}:due';
  for (const id of await redis.zrange(due, '0', '-1')) await redis.zadd(due, 0, id);
  const after = await start();
  await atRest();
  expect(await records()).toMatchObject([USED]);
  expect(bookedLines(after)).toHaveLength(1);
});

test('a cancelled one is booked as its provider reports it', async () => {
  const text = await start('never');
  const { id } = await begin(text);
  const cancelled = await text.fetch(`/v1/responses/${id}/cancel`, { method: 'POST' });
  expect(await cancelled.json()).toMatchObject({ status: 'cancelled' });
  await atRest();
  expect(await records()).toMatchObject([
    {
      outcome: 'cancelled',
      channel: 'one',
      estimated: false,
      consumption: { outputTokens: 0 },
      costMicroUsd: 0,
    },
  ]);
});

test('a failed one is booked as its provider reports it', async () => {
  const text = await start();
  const { id } = await begin(text);
  const usage = { input_tokens: 7, output_tokens: 3, total_tokens: 10 };
  const error = { code: 'server_error', message: 'The model failed.' };
  simulator.script(({ method }) => method === 'GET', {
    json: { id, object: 'response', background: true, status: 'failed', output: [], usage, error },
  });
  await atRest();
  expect(await records()).toMatchObject([
    {
      outcome: 'failed',
      consumption: { inputTokens: 7, outputTokens: 3 },
      costMicroUsd: 3070,
      detail: { errorCode: 'server_error', unitPrices: { input: 10, output: 1000 } },
    },
  ]);
});

test('deleting one does not save what it used', async () => {
  const text = await start('never');
  const ended = await begin(text);
  ended.end();
  await waitFor(async () => {
    const reply = await fetch(`${simulator.url}/v1/responses/${ended.id}`, {
      headers: { authorization: 'Bearer k' },
    });
    return Object(await reply.json()).status === 'completed';
  });
  expect((await text.fetch(`/v1/responses/${ended.id}`, { method: 'DELETE' })).status).toBe(200);
  await atRest();
  expect(await records()).toMatchObject([USED]);

  const working = await begin(text);
  expect((await text.fetch(`/v1/responses/${working.id}`, { method: 'DELETE' })).status).toBe(200);
  await atRest();
  expect((await records())[1]).toMatchObject({
    outcome: 'abandoned',
    channel: 'one',
    estimated: true,
    consumption: { outputTokens: 1000 },
  });
});

test('a provider that never reports how it ended is given up, and the estimate is booked', async () => {
  const text = await start('often', { giveUpMs: 50 });
  await begin(text);
  await atRest();
  expect(await records()).toMatchObject([
    { outcome: 'abandoned', channel: 'one', estimated: true, consumption: { outputTokens: 1000 } },
  ]);
});

test('a provider that fails for a while is called again', async () => {
  const text = await start();
  const { end } = await begin(text);
  for (const status of [500, 503, 429])
    simulator.script(({ method }) => method === 'GET', { status, json: { error: { message: 'later' } } });
  end();
  await atRest();
  expect(simulator.scriptsWaiting).toBe(0);
  expect(await records()).toMatchObject([USED]);
});

test('a background stream that its caller leaves is booked when the response has ended', async () => {
  const text = await start();
  const gate = createGate();
  simulator.script('/v1/responses', { stallAfter: 2, resume: gate.opened });
  const leaving = new AbortController();
  const reply = await text.fetch('/v1/responses', {
    body: { model: 'priced', input: 'hi there', background: true, stream: true },
    signal: leaving.signal,
    identity,
  });
  for await (const _ of readSse(reply)) break;
  leaving.abort();
  await waitFor(() => text.lines.find(({ usagePending }) => usagePending === true));
  expect(await records()).toEqual([]);
  gate.open();
  await atRest();
  expect(await records()).toMatchObject([USED]);
});

test('a background stream that is read to its end is booked by its own request', async () => {
  const text = await start('never');
  const reply = await text.fetch('/v1/responses', {
    body: { model: 'priced', input: 'hi there', background: true, stream: true },
    identity,
  });
  await collectSse(reply);
  await atRest();
  expect(await records()).toMatchObject([USED]);
  expect(bookedLines(text)).toEqual([]);
});

/** Redis answers, and refuses writes, while the action runs. */
async function whileFull(action: () => Promise<unknown>): Promise<void> {
  const admin = redis.duplicate();
  await admin.config('SET', 'maxmemory', '1');
  try {
    await action();
  } finally {
    await admin.config('SET', 'maxmemory', '0');
    admin.disconnect();
  }
}

const startInBackground = (text: TextUnderTest) =>
  text.fetch('/v1/responses', { body: { model: 'priced', input: 'hi there', background: true } });

test('no provider begins a response that its caller could not find again', async () => {
  const text = await start('never');
  await whileFull(async () => {
    const reply = await startInBackground(text);
    expect([reply.status, reply.headers.get('retry-after')]).toEqual([503, '2']);
  });
  expect(simulator.requests).toEqual([]);
});

test('where Redis cannot remember a response that has begun, the estimate is booked', async () => {
  const text = await start('never');
  const gate = createGate();
  simulator.script('/v1/responses', { gate: gate.opened });
  const started = startInBackground(text);
  await simulator.nextRequest();
  await whileFull(async () => {
    gate.open();
    const reply = await started;
    expect([reply.status, await reply.json()]).toMatchObject([200, { store: false }]);
  });
  const line = await waitFor(() => text.lines.find(({ responseKept }) => responseKept === false));
  expect(line).toMatchObject({ usageEstimated: true, outputTokens: 1000 });
});
