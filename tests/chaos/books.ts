import { join } from 'node:path';
import { createLedger } from '@gateway/metering/ledger/ledger';
import { openUsageSpool } from '@gateway/metering/meter/usage-spool';
import { redisNames } from '@gateway/metering/redis-names';
import { Redis } from 'ioredis';
import { z } from 'zod';
import { askAdmin, createKey, type MadeKey } from '../support/admin-keys.ts';
import { readBudget, readUsageRecords, type UsageLine } from '../support/admin-usage.ts';
import type { Plan } from './plan.ts';
import type { World } from './world.ts';

/** The keys that the callers use; the budget of one is its team's too. */
export interface Keys {
  readonly budgeted: ChaosKey;
  readonly free: ChaosKey;
}

interface ChaosKey extends MadeKey {
  /** By which its webhooks are signed. */
  readonly webhookSecret: string;
}

/** What the gateway has accounted for. */
export interface Books {
  readonly records: Readonly<Record<keyof Keys, readonly UsageLine[]>>;
  readonly balances: readonly { readonly of: string; readonly spent: number; readonly reserved: number }[];
  /** The usage record that a request's log lines name, by the request's id. */
  readonly recordsOf: ReadonlyMap<string, readonly string[]>;
  /** When the leases end of the places that requests of the budgeted key hold; Unix milliseconds. */
  readonly placeLeases: readonly number[];
}

/** More than there ever are: places are counted, and nobody is refused. */
const PLENTY = 10_000;
const BUDGET = { usd: 10_000, period: 'total' };

export async function createKeys({ stack }: World, { round, requests }: Plan): Promise<Keys> {
  const hasSessions = requests.some(({ kind }) => kind === 'realtime session');
  const team = `team-${round}`;
  await askAdmin(stack, 'POST', '/admin/v1/teams', { name: team, budget: BUDGET });
  return {
    budgeted: await createChaosKey(stack, {
      ...{ name: 'budgeted', team, budget: BUDGET },
      ...(hasSessions && { limits: { concurrentRequests: PLENTY } }),
    }),
    free: await createChaosKey(stack, { name: 'free' }),
  };
}

async function createChaosKey(stack: World['stack'], settings: Record<string, unknown>): Promise<ChaosKey> {
  const key = await createKey(stack, settings);
  const made = await askAdmin(stack, 'POST', `/admin/v1/keys/${key.id}/webhook-secret`, {});
  return { ...key, ...z.object({ webhookSecret: z.string() }).parse(await made.json()) };
}

/** Longer than any reservation lasts without its process. */
const ALL_LEASES_MS = 2 * 86_400_000;
/** Longer than the file of a process that died is left alone. */
const LEFT_ALONE_MS = 120_000;

/**
 * Does what the gateway does when leases have run out: replays what processes that died have left on disk, then settles their
 * reservations. Returns how many those were.
 */
export async function settleAll({ stack, dataFolder }: Pick<World, 'stack' | 'dataFolder'>): Promise<number> {
  const redis = new Redis(stack.redisUrl);
  try {
    const [seconds] = await redis.time();
    const laterUs = Number(seconds) * 1e6 + ALL_LEASES_MS * 1000;
    const ledger = createLedger({
      redis,
      now: Date.now,
      keepRecordsDays: 90,
      clock: () => laterUs,
    });
    const folder = join(dataFolder, 'usage-spool');
    const spool = await openUsageSpool(folder, 'chaos', () => Date.now() + LEFT_ALONE_MS);
    await spool.replay(async ({ record }) => {
      await ledger.settle(record, record);
    });
    let total = 0;
    for (;;) {
      const settled = await ledger.settleAbandoned();
      if (settled === 0) return total;
      total += settled;
    }
  } finally {
    await redis.quit();
  }
}

const Line = z.object({
  requestId: z.string(),
  usageId: z.string().optional(),
  jobId: z.string().optional(),
});

export async function readBooks({ stack, lines }: World, keys: Keys, round: number): Promise<Books> {
  const recordsOf = new Map<string, string[]>();
  for (const { text } of lines) {
    if (!text.includes('"requestId"')) continue;
    const line = Line.safeParse(JSON.parse(text)).data;
    for (const id of line ? [line.usageId, line.jobId] : [])
      if (line && id !== undefined)
        recordsOf.set(line.requestId, [...(recordsOf.get(line.requestId) ?? []), id]);
  }
  const accounts = [
    ['keys', keys.budgeted.id],
    ['teams', `team-${round}`],
  ] as const;
  const balances = await Promise.all(
    accounts.map(async ([of, id]) => ({ of, ...(await readBudget(stack, of, id)) })),
  );
  return {
    records: {
      budgeted: await readUsageRecords(stack, keys.budgeted.id),
      free: await readUsageRecords(stack, keys.free.id),
    },
    balances,
    recordsOf,
    placeLeases: await placeLeasesOf(stack, keys.budgeted.id),
  };
}

async function placeLeasesOf({ redisUrl }: World['stack'], keyId: string): Promise<number[]> {
  const redis = new Redis(redisUrl);
  try {
    const [seconds] = await redis.time();
    const members = await redis.zrange(
      redisNames.slots(keyId),
      `(${Number(seconds) * 1000}`,
      '+inf',
      'BYSCORE',
      'WITHSCORES',
    );
    return members.filter((_, at) => at % 2 === 1).map(Number);
  } finally {
    await redis.quit();
  }
}
