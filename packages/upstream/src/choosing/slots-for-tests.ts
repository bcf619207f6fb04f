import { startRedis } from '@gateway/testkit/start-redis';
import { waitFor } from '@gateway/testkit/wait-for';
import { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import type { Candidate } from '../candidate.ts';
import { parseConfiguration } from '../configuration/parse-configuration.ts';
import { Accounts } from './accounts.ts';
import { createLeaseStore, type LeaseStore } from './lease-store.ts';
import type { SlotPool } from './slot-pool.ts';
import { type SlotWait, waitForSlot } from './wait-for-slot.ts';

/** A channel with one account, by the members of its entry, as candidate. */
export const candidateOf = (settings: string): Candidate => {
  const file = `
channels:
  one: { provider: simulator, apiKey: k, ${settings} }
models:
  m: { kind: text, routes: [{ channel: one }] }
`;
  const { models } = parseConfiguration(file, 'gateway.yaml', {});
  const route = models[0]?.routes[0];
  if (route === undefined) throw new Error('no route');
  const { channel } = route;
  const [account] = channel.accounts;
  return { channel, account, route, protocol: 'responses', weight: 1, model: 'm', requestedModel: 'm' };
};

export interface ProcessForTests {
  readonly pool: SlotPool;
  readonly waits: readonly SlotWait[];
  /** How often Redis was called. */
  readonly redisCalls: number;
  /** Takes a slot for a request, which waits if it may. Resolves to what releases it; null: there is none. */
  begin(signal?: AbortSignal): Promise<(() => void) | null>;
}

/** What a process has of the slots of a candidate's account, beside others at the same Redis. */
export const processWith = async (
  candidate: Candidate,
  redisUrl: string | null,
): Promise<ProcessForTests> => {
  let redisCalls = 0;
  const waits: SlotWait[] = [];
  const leases = redisUrl === null ? undefined : await leasesAt(redisUrl, () => (redisCalls += 1));
  const accounts = new Accounts({ leases });
  onTestFinished(() => accounts.close());
  return {
    pool: accounts.of(candidate).slots,
    waits,
    get redisCalls() {
      return redisCalls;
    },
    begin: async (signal) => {
      const { slots: pool } = accounts.of(candidate);
      const release = () => pool.release();
      if (await pool.take()) return release;
      const { maxWaitMs: maxMs } = candidate.channel;
      const wait = { maxMs, signal, onWait: (one: SlotWait) => waits.push(one) };
      return maxMs > 0 && (await waitForSlot(new Set([pool]), wait)) !== null ? release : null;
    },
  };
};

const leasesAt = async (url: string, onAsked: () => void): Promise<LeaseStore> => {
  const redis = new Redis(url, {
    lazyConnect: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => 50,
  });
  redis.on('error', () => undefined);
  await redis.connect();
  onTestFinished(() => redis.disconnect());
  const store = createLeaseStore(redis);
  return {
    adjust: (name, report) => {
      onAsked();
      return store.adjust(name, report);
    },
  };
};

/** Resolves when each process has learned from Redis what the others do now. */
export const knowOfEachOther = async (processes: readonly ProcessForTests[]): Promise<void> => {
  const before = processes.map(({ redisCalls }) => redisCalls);
  await waitFor(() => processes.every(({ redisCalls }, index) => redisCalls > (before[index] ?? 0) + 2));
};

/** A Redis of the test's own. */
export const redisForTest = async () => {
  const server = await startRedis();
  onTestFinished(() => server.close());
  return server;
};
