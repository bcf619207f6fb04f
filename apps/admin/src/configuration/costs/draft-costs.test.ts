import { NOTHING_CONSUMED, type UsageResult, type UsageSubject } from '@gateway/contracts/usage/usage-record';
import { createLedger } from '@gateway/metering/ledger/ledger';
import { openDatabase } from '@gateway/records/database/open-database';
import { createUsageStore } from '@gateway/records/usage/usage-store';
import { requestIdOf } from '@gateway/service-kit/request/request-id';
import { expect, test } from 'vitest';
import { TOKEN } from '../../testing/run-admin.ts';
import { useAdmin } from '../../testing/use-admin.ts';
import { createCompareCosts, DraftCosts } from './draft-costs.ts';

const CONFIGURATION = `channels:
  one: { provider: openai-compatible, baseUrl: "https://one.example.com/v1", apiKey: "\${ONE_KEY}" }
  two: { provider: openai-compatible, baseUrl: "https://two.example.com/v1", apiKey: "\${TWO_KEY}" }
models:
  summaries:
    kind: text
    price: { inputPerMTok: 10, outputPerMTok: 20 }
    routes: [{ channel: one }, { channel: two, priority: 1, priceFactor: 0.5 }]
  tiered:
    kind: text
    price: { inputPerMTok: 10, serviceTiers: { flex: { inputPerMTok: 5 } } }
    routes: [{ channel: one }]
  free: { kind: text, routes: [{ channel: two }] }
`;
const admin = useAdmin({ configuration: CONFIGURATION });

async function settle(subject: Partial<UsageSubject>, result: Partial<UsageResult>): Promise<void> {
  const ledger = createLedger({ redis: admin.redis, now: Date.now, keepRecordsDays: 30 });
  await ledger.settle(
    {
      ...{ id: requestIdOf(undefined), keyId: 'key_a', team: 'search', endpoint: 'chat', model: 'summaries' },
      startedAtMs: Date.now(),
      ...subject,
    },
    {
      ...{ outcome: 'ok', channel: 'one', attempts: 1, durationMs: 900, firstByteMs: 412, estimated: false },
      ...{ consumption: { ...NOTHING_CONSUMED, inputTokens: 1_000_000 }, costMicroUsd: 10_000_000 },
      ...result,
    },
  );
}

async function costsOf(edits: readonly unknown[]) {
  const response = await fetch(`${admin.url}/admin/v1/configuration/draft/costs`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ edits }),
  });
  return { status: response.status, body: await response.json() };
}
const costs = async (edits: readonly unknown[]) => DraftCosts.parse((await costsOf(edits)).body);
const set = (path: readonly (string | number)[], value: unknown) => ({ op: 'set', path, value });

test('a price of the draft is applied to what the last week consumed, by team and model', async () => {
  await settle({}, {});
  await settle({ team: null }, {});
  await settle({ model: 'free' }, { channel: 'two', costMicroUsd: null });
  const found = await costs([set(['models', 'summaries', 'price', 'inputPerMTok'], 4)]);
  expect(found).toMatchObject({
    ...{ requests: 2, compared: 2, isCut: false, beforeMicroUsd: 20_000_000, afterMicroUsd: 8_000_000 },
    byModel: [{ model: 'summaries', requests: 2, beforeMicroUsd: 20_000_000, afterMicroUsd: 8_000_000 }],
    byTeam: expect.arrayContaining([
      { team: 'search', requests: 1, beforeMicroUsd: 10_000_000, afterMicroUsd: 4_000_000 },
    ]),
    notes: [],
  });
  expect(found.sentences).toContain(
    "search's requests for summaries would have cost $6.00 less: $4.00 instead of $10.00 (1 request).",
  );
});

test('routes and weights of the draft share requests out, each at its own price factor', async () => {
  await settle({}, {});
  const found = await costs([set(['models', 'summaries', 'routes', 1, 'priority'], 0)]);
  expect(found).toMatchObject({ beforeMicroUsd: 10_000_000, afterMicroUsd: 7_500_000 });
  expect(found.byRoute).toEqual([
    {
      model: 'summaries',
      channel: 'one',
      requests: 0.5,
      beforeMicroUsd: 10_000_000,
      afterMicroUsd: 5_000_000,
    },
    { model: 'summaries', channel: 'two', requests: 0.5, beforeMicroUsd: 0, afterMicroUsd: 2_500_000 },
  ]);
  expect(found.notes).toEqual([expect.stringContaining('by weight')]);
});

test('the tier that was charged is known by its cost; a request whose cost fits none is left out, and so is one without a price', async () => {
  await settle({ model: 'tiered' }, { costMicroUsd: 5_000_000 });
  await settle({ model: 'tiered' }, { costMicroUsd: 7_000_000 });
  await settle({ model: 'free' }, { channel: 'two', costMicroUsd: null });
  const found = await costs([
    set(['models', 'tiered', 'price', 'serviceTiers', 'flex', 'inputPerMTok'], 3),
    set(['models', 'free', 'price'], { inputPerMTok: 1 }),
  ]);
  expect(found).toMatchObject({ compared: 1, beforeMicroUsd: 5_000_000, afterMicroUsd: 3_000_000 });
  expect(found.notes).toEqual(
    expect.arrayContaining([
      expect.stringContaining('1 request whose price is not clear'),
      expect.stringContaining('1 request without a price'),
    ]),
  );
});

test('a draft that changes no price and no route compares nothing; one with mistakes is refused', async () => {
  await settle({}, {});
  expect(await costs([set(['channels', 'one', 'maxConcurrent'], 5)])).toMatchObject({
    requests: 0,
    sentences: [],
  });
  expect(await costs([{ op: 'remove', path: ['models', 'summaries'] }])).toMatchObject({
    compared: 0,
    notes: ['Not in the figures: 1 request for a model that the draft does not serve.'],
  });
  const refused = await costsOf([set(['models', 'summaries', 'routes', 0, 'channel'], 'none')]);
  expect(refused).toMatchObject({
    status: 400,
    body: { error: { message: expect.stringContaining('mistakes') } },
  });
});

test('no more requests are read than the bounds allow: the rarest models and the newest requests first, and the figures say that they are cut', async () => {
  await settle({ model: 'tiered' }, {});
  for (const millions of [1, 1, 1, 2, 3])
    await settle(
      {},
      {
        consumption: { ...NOTHING_CONSUMED, inputTokens: millions * 1_000_000 },
        costMicroUsd: millions * 10_000_000,
      },
    );
  const { database } = await openDatabase({ GATEWAY_DATA_DIR: admin.dataFolder });
  await using _ = database;
  const usage = createUsageStore({ database, redis: admin.redis, now: Date.now, onBroken: () => undefined });
  const compare = (bounds: { maxRecords: number; maxMs: number }, uptime: () => number) =>
    createCompareCosts({
      ...{ path: 'gateway.yaml', usage, now: Date.now, uptime, bounds },
      readBase: async () => ({ text: CONFIGURATION, number: null }),
    })({
      edits: ['summaries', 'tiered'].map((model) => ({
        ...{ op: 'set' as const, path: ['models', model, 'price', 'inputPerMTok'], value: 5 },
      })),
    });

  const byCount = await compare({ maxRecords: 3, maxMs: 1000 }, () => 0);
  expect(byCount).toMatchObject({
    ...{ requests: 6, compared: 3, isCut: true, beforeMicroUsd: 60_000_000, afterMicroUsd: 30_000_000 },
    byModel: [
      { model: 'summaries', requests: 2, beforeMicroUsd: 50_000_000 },
      { model: 'tiered', requests: 1, beforeMicroUsd: 10_000_000 },
    ],
  });
  expect(byCount.notes[0]).toMatch(/^3 requests of 6 were compared: the newest ones/);

  let clockMs = 0;
  const late = await compare({ maxRecords: 100, maxMs: 1000 }, () => (clockMs += 600));
  expect(late).toMatchObject({ requests: 6, compared: 1, isCut: true, byModel: [{ model: 'tiered' }] });

  const whole = await compare({ maxRecords: 7, maxMs: 1000 }, () => 0);
  expect(whole).toMatchObject({ requests: 6, compared: 6, isCut: false, notes: [] });
});
