import type { Account } from '@gateway/contracts/identity';
import { UsageRecord } from '@gateway/contracts/usage/usage-record';
import { redisNames } from '@gateway/metering/redis-names';
import { waitFor } from '@gateway/testkit/wait-for';
import type { Route } from '@gateway/upstream/configuration/configuration';
import { parseConfiguration } from '@gateway/upstream/configuration/parse-configuration';
import type { Attempt } from '@gateway/upstream/replies/reply';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Stack, startStack } from '../../testing/start-stack.ts';
import { unreadAttempts } from './attempt-candidates.ts';

const HEDGE = '{ minSamples: 3, minDelayMs: 50, maxDelayMs: 50, maxShare: 1 }';
const PRICE = '{ inputPerMTok: 1000, outputPerMTok: 10000 }';

const configuration = (first: string, second: string): string => `
channels:
  one: { provider: simulator, baseUrl: "${first}", apiKey: k }
  two: { provider: simulator, baseUrl: "${second}", apiKey: k, speaks: [chat] }
models:
  hedged: { kind: text, routes: [{ channel: one }, { channel: two, priority: 1 }], hedge: ${HEDGE}, price: ${PRICE} }
  cheaper: { kind: text, routes: [{ channel: one, priceFactor: 0.5 }, { channel: two, priceFactor: 2, priority: 1 }], hedge: ${HEDGE}, price: ${PRICE} }
`;

let stack: Stack;
let keyId = 'key_0';
let keys = 0;
beforeAll(async () => {
  stack = await startStack({ configuration });
  // The first channel's times are known.
  for (const model of ['hedged', 'cheaper'])
    for (let count = 0; count < 3; count += 1) await (await send({ model })).text();
});
afterAll(() => stack[Symbol.asyncDispose]());
beforeEach(() => {
  stack.first.reset();
  stack.second.reset();
  keys += 1;
  keyId = `key_${keys}`;
});

const BODY = { model: 'hedged', input: 'Hello there.', max_output_tokens: 100, stream: true };
const send = (more: object, accounts: readonly Account[] = []) =>
  stack.text.fetch('/v1/responses', {
    body: { ...BODY, ...more },
    identity: { keyId, accounts: [...accounts] },
  });

async function recordOf(): Promise<UsageRecord> {
  const name = redisNames.records(new Date().toISOString().slice(0, 10));
  return waitFor(async () =>
    (await stack.redis.xrange(name, '-', '+'))
      .map(([, fields]) => UsageRecord.parse(JSON.parse(fields[1] ?? '')))
      .find((record) => record.keyId === keyId),
  );
}

const budget = (microUsd: number): Account => ({
  owner: keyId,
  limits: {},
  budget: { microUsd, period: 'total', allowUnpriced: false },
});

test('a late stream is overtaken by another channel of another protocol, and both are charged for', async () => {
  stack.first.script({ stallAfter: 2 });
  const reply = await send({}, [budget(1e9)]);
  expect(await reply.text()).toContain('You said: Hello there.');
  expect(reply.headers.get('x-gateway-channel')).toBe('two');
  expect(reply.headers.get('x-gateway-attempts')?.replaceAll(/;ms=\d+/g, '')).toBe(
    '"one";outcome=overtaken;status=200, "two";outcome=ok;status=200;hedge',
  );
  const [used] = Object.values(stack.second.ledger());
  const record = await recordOf();
  expect(record).toMatchObject({ outcome: 'ok', channel: 'two', attempts: 2, estimated: true });
  const lost = record.consumption.inputTokens - (used?.inputTokens ?? 0);
  expect(lost).toBeGreaterThan(0);
  expect(record.costMicroUsd).toBe(
    record.consumption.inputTokens * 1000 + (used?.outputTokens ?? 0) * 10_000,
  );
});

test('what a late attempt was sent is charged at the price of its own route', async () => {
  stack.first.script({ stallAfter: 2 });
  const reply = await send({ model: 'cheaper' }, [budget(1e9)]);
  await reply.text();
  expect(reply.headers.get('x-gateway-channel')).toBe('two');
  const [used] = Object.values(stack.second.ledger());
  const record = await recordOf();
  const lost = record.consumption.inputTokens - (used?.inputTokens ?? 0);
  expect(lost).toBeGreaterThan(0);
  expect(record.costMicroUsd).toBe(
    lost * 500 + (used?.inputTokens ?? 0) * 2000 + (used?.outputTokens ?? 0) * 20_000,
  );
});

test('a caller who leaves before the first output pays for the input at the price of its route', async () => {
  stack.first.script({ stallAfter: 0 });
  const caller = new AbortController();
  const reply = stack.text.fetch('/v1/responses', {
    body: { ...BODY, model: 'cheaper', input: 'x'.repeat(400) },
    identity: { keyId, accounts: [budget(3e6)] },
    signal: caller.signal,
  });
  await stack.first.nextRequest();
  caller.abort();
  await expect(reply).rejects.toThrow();
  const { outcome, consumption, costMicroUsd } = await recordOf();
  expect([outcome, costMicroUsd]).toEqual(['left', consumption.inputTokens * 500]);
});

/** The request, held at the first channel until one that began later was answered by the second. */
async function answeredLate(more: object, accounts: readonly Account[]): Promise<Response> {
  const gate = Promise.withResolvers<void>();
  stack.first.script({ gate: gate.promise });
  const held = send(more, accounts);
  await stack.first.nextRequest();
  stack.first.script({ stallAfter: 0 });
  const later = await send({ input: 'Later.' }, []);
  expect(later.headers.get('x-gateway-channel')).toBe('two');
  await later.text();
  gate.resolve();
  return held;
}

const [ONE, TWO] = parseRoutes();
const went = (outcome: Attempt['outcome'], route: Route) => ({ outcome, route });
const [ONE_LEFT, TWO_LEFT] = [went('left', ONE), went('left', TWO)];
test.for([
  ['neither has said anything', [ONE_LEFT, TWO_LEFT], [], false, ONE, [TWO]],
  ['one has reported', [ONE_LEFT, TWO_LEFT], [ONE], true, null, [TWO]],
  ['both have reported', [ONE_LEFT, TWO_LEFT], [ONE, TWO], true, null, []],
  ['one had failed with a report before', [went('failed', ONE), TWO_LEFT], [], true, null, [TWO]],
  ['one was overtaken', [went('overtaken', ONE), TWO_LEFT], [], false, TWO, [ONE]],
  ['there is one', [TWO_LEFT], [], false, TWO, []],
  ['the last one took too long', [went('timeout', ONE), went('timeout', TWO)], [], false, TWO, []],
] as const)(
  'of attempts that end without an answer, each is charged once, by its report or by its input: %s',
  ([, attempts, readWhenLeft, isRead, own, others]) => {
    expect(unreadAttempts(attempts, { readWhenLeft, isRead })).toEqual({ own, others });
  },
);

function parseRoutes(): readonly [Route, Route] {
  const { models } = parseConfiguration(
    configuration('http://a.example', 'http://b.example'),
    'gateway.yaml',
    {},
  );
  const [one, two] = models[0]?.routes ?? [];
  if (one === undefined || two === undefined) throw new Error('the model has two routes');
  return [one, two];
}

test('a budget that covers one attempt only lets the request in, without a hedge', async () => {
  // A hundred tokens of output are a dollar.
  const reply = await answeredLate({}, [budget(1.5e6)]);
  expect(reply.status).toBe(200);
  expect(reply.headers.get('x-gateway-attempts')).toMatch(/^"one";outcome=ok;status=200;ms=\d+$/);
  await reply.text();
  expect(stack.second.requests).toHaveLength(1);
  expect(await stack.text.metrics.registry.metrics()).not.toMatch(/gateway_refused_total\{[^}]*\} [1-9]/);
});

test('no second channel is called where a built-in tool would be used twice', async () => {
  const reply = await answeredLate({ tools: [{ type: 'web_search' }] }, []);
  expect(reply.headers.get('x-gateway-attempts')).toMatch(/^"one";outcome=ok;status=200;ms=\d+$/);
  await reply.text();
});
