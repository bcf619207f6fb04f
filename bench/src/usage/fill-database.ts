import { NOTHING_CONSUMED, type UsageRecord } from '@gateway/contracts/usage/usage-record';
import { dayOf, redisNames } from '@gateway/metering/redis-names';
import type { OutboxEntry } from '@gateway/metering/usage/outbox';
import type { Database } from '@gateway/records/database/database';
import { createLease } from '@gateway/records/recorder/lease';
import { writeEntries } from '@gateway/records/recorder/write-entries';
import { createGroupIds } from '@gateway/records/usage/usage-groups';

const DAY_MS = 86_400_000;
const MONTH_LENGTH = 'YYYY-MM'.length;
/** A day at once adds each sum up once: the recorder itself writes what has come within a second. */
const AT_ONCE = 50_000;
const KEYS = 300;
const TEAMS = 20;
const MODELS = [
  ...['gpt-5.2', 'claude-sonnet-5-5', 'gpt-5.2-mini', 'gpt-5.2-nano', 'claude-haiku-5'],
  ...['llama-4-70b', 'mistral-large', 'gemini-3-pro', 'qwen-3-max', 'dall-e-3'],
];
const ENDPOINTS = ['responses', 'chat', 'messages'];

/** The same numbers each time, from 0 to 1. */
function createRandom(): () => number {
  let state = 1;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

/**
 * Records so many requests of the last `days` days, as the recorder does: few keys and models have most of them, a team's keys are
 * busy by day, and one in a hundred fails.
 */
export async function fillDatabase(
  database: Database,
  { count, days, now, progress }: FillOptions,
): Promise<void> {
  const random = createRandom();
  /** The smaller numbers much more often. */
  const skewed = (below: number) => Math.floor(below * random() ** 3);
  const lease = createLease({ database, holder: 'bench', now });
  const options = {
    ...{ lease, dialect: database.dialect, groupIds: createGroupIds(), onBroken: () => undefined },
    charging: {
      ...{ projection: { chargeLate: () => Promise.resolve() }, onChargedAgain: () => undefined },
      ...{ timeZone: 'UTC', now },
    },
  };
  await lease.hold();
  const beganMs = now() - days * DAY_MS;
  const endOf = (n: number) => Math.floor(beganMs + (n / count) * days * DAY_MS);

  const recordOf = (n: number): UsageRecord => {
    const key = skewed(KEYS);
    const durationMs = Math.round(300 + 20_000 * random() ** 3);
    return {
      ...{ id: `req_${n.toString(36).padStart(12, '0')}`, requestId: `call_${n}`, keyId: `key_${key}` },
      team: key % 5 === 0 ? null : `team-${key % TEAMS}`,
      endpoint: ENDPOINTS[skewed(ENDPOINTS.length)] ?? 'chat',
      model: MODELS[skewed(MODELS.length)] ?? 'gpt-5.2',
      startedAtMs: endOf(n) - durationMs,
      outcome: random() < 0.01 ? 'failed' : 'ok',
      channel: random() < 0.9 ? 'openai' : 'azure',
      ...{ attempts: 1, durationMs, firstByteMs: Math.round(durationMs / 5) },
      consumption: { ...NOTHING_CONSUMED, inputTokens: skewed(50_000), outputTokens: skewed(4000) },
      ...{ estimated: false, costMicroUsd: skewed(100_000) },
      detail: { isStreamed: true },
    };
  };
  const entryOf = (n: number): OutboxEntry => {
    const record = recordOf(n);
    return {
      id: { ms: endOf(n), seq: n },
      text: JSON.stringify(record),
      charged: [redisNames.account(record.keyId, dayOf(endOf(n)).slice(0, MONTH_LENGTH))],
    };
  };
  for (let from = 0; from < count; ) {
    const day = dayOf(endOf(from));
    const entries = [];
    for (; from < count && entries.length < AT_ONCE && dayOf(endOf(from)) === day; from += 1)
      entries.push(entryOf(from));
    await writeEntries(options, { kind: 'records', day, name: redisNames.records(day) }, entries);
    progress(from);
  }
}

interface FillOptions {
  readonly count: number;
  readonly days: number;
  readonly now: () => number;
  readonly progress: (written: number) => void;
}
