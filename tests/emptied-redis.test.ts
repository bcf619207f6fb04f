import { createGate } from '@gateway/simulator/gate';
import { waitFor } from '@gateway/testkit/wait-for';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { invoiceOf, pricedConfiguration } from './ledger/priced-models.ts';
import { askAdmin, createKey, type MadeKey, revokeKey } from './support/admin-keys.ts';
import { readBudget, readUsage, readUsageRecords } from './support/admin-usage.ts';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** Redis forgets everything in the middle of requests, and comes back from the database: keys, teams, and what was spent. */

let gateway: Gateway;
let redis: Redis;

beforeAll(async () => {
  gateway = await startGateway({
    services: ['edge', 'text', 'admin'],
    configuration: pricedConfiguration,
    restarts: false,
  });
  redis = new Redis(gateway.stack.redisUrl);
});
afterAll(async () => {
  redis?.disconnect();
  await gateway?.close();
});
beforeEach(() => gateway.simulator.reset());

const MODEL = 'gpt-5.2';
const CALLERS = 4;
const HELD = 3;
/** Replies of each caller before and after. */
const ENOUGH = 5;
const BACK = { timeoutMs: 10_000, what: 'that keys work again' };

async function statusOf(key: string): Promise<{ status: number; retryAfter: string | null }> {
  const response = await gateway.fetch('/v1/responses', {
    headers: { authorization: `Bearer ${key}` },
    json: { model: MODEL, input: 'hello', max_output_tokens: 20, store: false },
  });
  await response.text();
  return { status: response.status, retryAfter: response.headers.get('retry-after') };
}

/** Asks with a key without a pause; what came, by its status. */
function callWith(key: string) {
  const statuses: number[] = [];
  const withoutTime: number[] = [];
  let isOver = false;
  const running = (async () => {
    while (!isOver) {
      const { status, retryAfter } = await statusOf(key);
      statuses.push(status);
      if (status === 503 && retryAfter === null) withoutTime.push(status);
    }
  })();
  return {
    statuses,
    withoutTime,
    served: () => statuses.filter((status) => status === 200).length,
    end: async () => {
      isOver = true;
      await running;
    },
  };
}

const others = (statuses: readonly number[], ...expected: readonly number[]): number[] =>
  statuses.filter((status) => !expected.includes(status));

const recordsOf = ({ id }: MadeKey) => readUsageRecords(gateway.stack, id);
const costOf = async ({ id }: MadeKey): Promise<number> =>
  (await readUsage(gateway.stack, id)).reduce((sum, { costMicroUsd }) => sum + costMicroUsd, 0);

test('with an emptied Redis keys soon work again, who was refused stays refused, and the books and budgets are exact', {
  timeout: 180_000,
}, async () => {
  const { stack, simulator } = gateway;
  const budget = { usd: 100, period: 'total' };
  await askAdmin(stack, 'POST', '/admin/v1/teams', { name: 'red', budget });
  const key = await createKey(stack, { name: 'red', team: 'red', budget });
  const revoked = await createKey(stack, { name: 'revoked' });
  await revokeKey(stack, revoked.id);
  const spent = await createKey(stack, { name: 'spent', budget: { usd: 0.0001, period: 'total' } });
  await waitFor(async () => (await statusOf(revoked.key)).status === 401);

  const gate = createGate();
  const isHeld = ({ body }: { body: Buffer }) => body.includes('held');
  for (let n = 0; n < HELD; n += 1) simulator.script(isHeld, { gate: gate.opened });
  const held = Array.from({ length: HELD }, () =>
    gateway.fetch('/v1/responses', {
      headers: { authorization: `Bearer ${key.key}` },
      json: { model: MODEL, input: 'held', max_output_tokens: 20, store: false },
    }),
  );
  for (let n = 0; n < HELD; n += 1) await simulator.nextRequest(isHeld);
  const callers = Array.from({ length: CALLERS }, () => callWith(key.key));
  const refused = [callWith(revoked.key), callWith(spent.key), callWith('a-key-that-nobody-has-made')];
  const haveServed = (count: number) =>
    waitFor(() => callers.every(({ served }) => served() >= count), { timeoutMs: 30_000 });
  await haveServed(ENOUGH);

  await redis.flushall();
  await waitFor(async () => (await statusOf(key.key)).status === 200, BACK);
  gate.open();
  for (const reply of held) expect((await reply).status).toBe(200);
  await haveServed(2 * ENOUGH);
  for (const caller of [...callers, ...refused]) await caller.end();

  for (const { statuses, withoutTime } of callers) {
    expect(others(statuses, 200, 503)).toEqual([]);
    expect(withoutTime).toEqual([]);
  }
  const [ofRevoked = [], ofSpent = [], ofNobody = []] = refused.map(({ statuses }) => statuses);
  for (const statuses of [ofRevoked, ofNobody]) expect(others(statuses, 401, 503)).toEqual([]);
  expect(others(ofSpent, 429, 503)).toEqual([]);

  const row = simulator.ledger()[MODEL];
  const requests = row?.requests ?? 0;
  await waitFor(async () => (await recordsOf(key)).length === requests, { what: 'that all is recorded' });
  expect(new Set((await recordsOf(key)).map(({ id }) => id)).size).toBe(requests);
  const cost = row && invoiceOf(MODEL, row);
  expect(await costOf(key)).toBe(cost);
  const budgets = async () => [
    await readBudget(stack, 'keys', key.id),
    await readBudget(stack, 'teams', 'red'),
  ];
  await waitFor(async () => (await budgets()).every((one) => one.spent === cost), { what: 'exact budgets' });
  expect(await budgets()).toEqual(Array(2).fill({ spent: cost, reserved: 0 }));

  // What was recorded a moment ago is settled again where the database does not have it yet.
  await redis.flushall();
  await waitFor(async () => (await statusOf(spent.key)).status === 429, BACK);
  await waitFor(async () => (await costOf(key)) === cost, { what: 'that all is recorded again' });
  await waitFor(async () => (await budgets()).every((one) => one.spent === cost), { what: 'exact budgets' });
  expect(await costOf(key)).toBe(cost);
  expect(await budgets()).toEqual(Array(2).fill({ spent: cost, reserved: 0 }));
});
