import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { askAdmin } from './support/admin-keys.ts';
import { readBudget } from './support/admin-usage.ts';
import { ONE_PROVIDER } from './support/configuration.ts';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/**
 * A gateway is started on the data of an earlier one, which had everything in Redis. `earlier-data/` was recorded with it on
 * 2026-11-26: Redis' append-only file, and what its admin API answered. What would have expired was made to last.
 */

const EARLIER = new URL('./earlier-data/', import.meta.url);
const Rows = z.array(z.record(z.string(), z.unknown()));
const Facts = z.object({
  /** Secrets of keys, by what became of them. */
  keys: z.record(z.enum(['program', 'revoked', 'poor', 'rotated', 'leaked']), z.string()),
  programId: z.string(),
  /** By path: the rows of a page. */
  replies: z.record(z.string(), Rows),
  /** Ids, the newest first. */
  requests: z.array(z.string()),
});
const Page = z.object({ data: Rows });
const TEN_YEARS = { USAGE_RECORDS_DAYS: '3650', USAGE_SUMS_DAYS: '3650' };

let gateway: Gateway;
let facts: z.infer<typeof Facts>;

beforeAll(async () => {
  facts = Facts.parse(JSON.parse(await readFile(new URL('facts.json', EARLIER), 'utf8')));
  gateway = await startGateway({
    services: ['edge', 'text', 'admin'],
    configuration: (origin) =>
      `${ONE_PROVIDER(origin)}  gpt-5.6-sol: { kind: text, routes: [{ channel: provider }] }\n`,
    env: { ...TEN_YEARS, GATEWAY_SECRET: 'a gateway secret of more than 32 characters' },
    prepare: async (dataFolder) => {
      const folder = join(dataFolder, 'redis', 'appendonlydir');
      await mkdir(folder, { recursive: true });
      await copyFile(new URL('redis.aof', EARLIER), join(folder, 'appendonly.aof.1.base.aof'));
      await writeFile(
        join(folder, 'appendonly.aof.manifest'),
        'file appendonly.aof.1.base.aof seq 1 type b\n',
      );
    },
  });
});
afterAll(() => gateway?.close());

const isOfEarlier = ({ id, subject, keyId }: Record<string, unknown>): boolean =>
  !`${subject ?? keyId ?? id}`.startsWith('key_bootstrap');
async function read(path: string): Promise<z.infer<typeof Rows>> {
  const reply = await askAdmin(gateway.stack, 'GET', `/admin/v1${path}`);
  return Page.parse(await reply.json()).data.filter(isOfEarlier);
}
async function statusOf(key: string): Promise<number> {
  const reply = await gateway.fetch('/v1/chat/completions', {
    headers: { authorization: `Bearer ${key}` },
    json: { model: 'gpt-5.6-sol', messages: [{ role: 'user', content: 'hi' }] },
  });
  await reply.text();
  return reply.status;
}

test('a gateway on the data of an earlier one shows the same keys, teams, changes, sums and requests', async () => {
  const days = 'from=2026-11-01&to=2026-12-01';
  // Rows may say more than they did.
  // What was refused before the end of the earlier one is added up by the recorder, which begins with the process.
  for (const [path, rows] of Object.entries(facts.replies))
    await vi.waitFor(
      async () =>
        expect(await read(path.startsWith('/usage') ? `${path}&${days}` : path), path).toMatchObject(rows),
      { timeout: 60_000 },
    );
  const program = (await read('/keys?limit=200')).find(({ id }) => id === facts.programId);
  expect(program?.lastUsedAt).toMatch(/^2026-11-26T/);
  const requests = await read(`/requests?limit=100&${days}`);
  expect(requests.map(({ id }) => id)).toEqual(facts.requests);
});

test('and its keys work as they did, on the budgets that they have spent of', async () => {
  const { program, revoked, poor, rotated, leaked } = facts.keys;
  expect(await Promise.all([program, revoked, poor, rotated, leaked].map(statusOf))).toEqual([
    200, 401, 429, 200, 401,
  ]);
  const cost = facts.replies['/usage?groupBy=keyId,model,endpoint']
    ?.filter(({ keyId }) => keyId === facts.programId)
    .reduce((sum, { costMicroUsd }) => sum + Number(costMicroUsd), 0);
  const { spent } = await readBudget(gateway.stack, 'keys', facts.programId);
  expect(spent).toBeGreaterThan(cost ?? Infinity);
  expect((await readBudget(gateway.stack, 'teams', 'search')).spent).toBe(spent);
});
