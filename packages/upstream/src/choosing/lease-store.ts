import { randomUUID } from 'node:crypto';
import { defineScript, readScript } from '@gateway/redis/define-script';
import type { Redis } from 'ioredis';
import { z } from 'zod';

export interface LeaseReport {
  /** The slots that this process keeps in any case. */
  readonly held: number;
  /** The slots that it needs now. */
  readonly needed: number;
  /** The most that it holds beyond those. */
  readonly spare: number;
  readonly limit: number;
  /** Whether requests wait for a slot. */
  readonly isWaiting: boolean;
}

export interface LeaseReply {
  /** Slots that it holds from now on; at least `held`. */
  readonly granted: number;
  /** Other processes that hold some. */
  readonly others: number;
  /** How many of those have requests that wait. */
  readonly waiting: number;
}

/** The slots that the processes of all replicas hold. */
export interface LeaseStore {
  /** @throws what Redis throws; then it is not known whether it happened */
  adjust(name: string, report: LeaseReport): Promise<LeaseReply>;
}

/** Slots of a process that died are free again after this time, in milliseconds. */
export const LEASE_MS = 4_000;

const ADJUST = readScript(new URL('./adjust-leases.lua', import.meta.url));
/** Granted, others, waiting. */
const Adjusted = z.tuple([z.number(), z.number(), z.number()]);

const leasesKey = (name: string): string => `gateway:slots:${name}`;

/** The name of the slots of one account in the store. */
export const leasesName = ({ channel, account }: { channel: string; account: string }): string =>
  `${channel}/${account}`;

/** A holder's entry, as adjust-leases.lua writes it: slots, whether it waits, when it expires. */
const ENTRY = /^(\d+) \d (\d+)$/;

/** How many slots of these accounts all processes hold together, in the accounts' order; some hold a few more than they use. */
export async function readHeldSlots(
  redis: Redis,
  accounts: readonly { channel: string; account: string }[],
  nowMs: number,
): Promise<readonly number[]> {
  const held = await Promise.all(accounts.map((one) => redis.hvals(leasesKey(leasesName(one)))));
  return held.map((entries) =>
    entries.reduce((sum, entry) => {
      const [, slots = '0', expiresAtMs = '0'] = ENTRY.exec(entry) ?? [];
      return Number(expiresAtMs) > nowMs ? sum + Number(slots) : sum;
    }, 0),
  );
}

/** The leases of one process: each store is a holder of its own. */
export const createLeaseStore = (redis: Redis, { leaseMs = LEASE_MS } = {}): LeaseStore => {
  const adjust = defineScript(redis, 'gatewayAdjustLeases', ADJUST, Adjusted);
  const holder = randomUUID();
  return {
    adjust: async (name, { held, needed, spare, limit, isWaiting }) => {
      const wait = isWaiting ? 1 : 0;
      const [granted, others, waiting] = await adjust(
        [leasesKey(name)],
        ...[holder, held, needed, spare, limit, wait, leaseMs],
      );
      return { granted, others, waiting };
    },
  };
};
