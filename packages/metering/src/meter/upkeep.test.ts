import { UsageRecord } from '@gateway/contracts/usage/usage-record';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import type { Redis } from 'ioredis';
import { beforeEach, expect, test } from 'vitest';
import { createLedger, type Ledger } from '../ledger/ledger.ts';
import { redisNames } from '../redis-names.ts';
import { sampleResult, sampleSubject } from '../testing/sample-usage.ts';
import { withRedis } from '../testing/with-redis.ts';
import { createUpkeep } from './upkeep.ts';
import { openUsageSpool, type UsageSpool } from './usage-spool.ts';

/** Who settles for whom when Redis, or a process, is gone. The tests set the clock. */

const LEASE_MS = 60_000;
const ROUND_MS = 15_000;

let redis: Redis;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
/** The spool's files have the time of the machine. */
const START_MS = Date.now();
let nowMs = START_MS;

withRedis((client) => {
  redis = client;
});
beforeEach(async () => {
  nowMs = START_MS;
  folder = await temporaryFolder();
  return () => folder.close();
});

const subject = (id: string) => sampleSubject(id, START_MS);

interface Process {
  readonly ledger: Ledger;
  readonly spool: UsageSpool;
  readonly open: Set<string>;
  /** Its Redis does not answer while this is true. */
  isCutOff: boolean;
  readonly round: () => Promise<void>;
}

async function startProcess(name: string): Promise<Process> {
  const ledger = createLedger({
    redis,
    now: () => nowMs,
    keepRecordsDays: 1,
    clock: () => nowMs * 1000,
  });
  const spool = await openUsageSpool(folder.path, name, () => nowMs);
  const open = new Set<string>();
  const process: Process = {
    ledger,
    spool,
    open,
    isCutOff: false,
    round: createUpkeep({
      ledger,
      spool,
      openIds: () => [...open],
      leaseMs: LEASE_MS,
      release: async () => undefined,
      settle: async ({ record: { id, ...rest } }) => {
        await ledger.settle(subject(id), rest);
      },
      attempt: async (_, action) => {
        if (process.isCutOff) return false;
        await action();
        return true;
      },
    }),
  };
  return process;
}

const reserve = ({ ledger, open }: Process, id: string) => {
  open.add(id);
  return ledger.reserve({
    subject: subject(id),
    estimate: sampleResult(400),
    charges: [],
    leaseMs: LEASE_MS,
  });
};

async function records(): Promise<[id: string, outcome: string, cost: number | null][]> {
  const days = new Set(
    [START_MS, nowMs].map((ms) => new Date(ms).toISOString().slice(0, 'YYYY-MM-DD'.length)),
  );
  const entries = (
    await Promise.all([...days].map((day) => redis.xrange(redisNames.records(day), '-', '+')))
  ).flat();
  return entries.map(([, [, text = '']]) => {
    const { id, outcome, costMicroUsd } = UsageRecord.parse(JSON.parse(text));
    return [id, outcome, costMicroUsd];
  });
}

async function rounds(process: Process, count: number): Promise<void> {
  for (let round = 0; round < count; round += 1) {
    await process.round();
    nowMs += ROUND_MS;
  }
}

test('requests that ended while Redis was away for long are charged with what they used', async () => {
  const [busy, other] = [await startProcess('busy'), await startProcess('other')];
  await rounds(other, 3);
  await reserve(busy, 'a');
  await reserve(busy, 'b');
  busy.isCutOff = true;
  other.isCutOff = true;
  await rounds(other, 20);
  busy.open.delete('a');
  await busy.spool.add({ record: { ...subject('a'), ...sampleResult(150) } });
  busy.isCutOff = false;
  other.isCutOff = false;
  // The one that knows nothing of them is the first to find Redis back.
  await rounds(other, 1);
  await rounds(busy, 1);
  await rounds(other, 2);
  expect(await records()).toEqual([['a', 'ok', 150]]);

  // The other request still runs, and ends well.
  await busy.ledger.settle(subject('b'), sampleResult(160));
  await rounds(other, 4);
  expect(await records()).toEqual([
    ['a', 'ok', 150],
    ['b', 'ok', 160],
  ]);
});

test('what a process had on disk when it died is charged as it was, by another', async () => {
  const [dead, other] = [await startProcess('dead'), await startProcess('other')];
  await reserve(dead, 'a');
  await reserve(dead, 'b');
  await dead.spool.add({ record: { ...subject('a'), ...sampleResult(150) } });
  await rounds(other, 12);
  expect(await records()).toEqual([
    ['a', 'ok', 150],
    ['b', 'abandoned', 400],
  ]);
});
