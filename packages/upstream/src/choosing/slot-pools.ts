import type { Candidate } from '../candidate.ts';
import type { Account, Channel, Configuration } from '../configuration/configuration.ts';
import { type LeaseStore, leasesName } from './lease-store.ts';
import { SharedLeases } from './shared-leases.ts';
import { SlotPool } from './slot-pool.ts';

interface SlotPoolsOptions {
  /** Absent: the process keeps every bound by itself. */
  readonly leases?: LeaseStore | undefined;
}

/** How often leases are renewed, which is also how soon a process learns that others wait, in milliseconds. */
const RENEW_MS = 500;
/** How many requests may wait for one account. */
const MAX_WAITING = 1_000;

/** The slots of all accounts of the configuration. A new configuration keeps the requests in flight. */
export class SlotPools {
  readonly #store: LeaseStore | undefined;
  readonly #byName = new Map<string, SlotPool>();
  readonly #byAccount = new WeakMap<Account, SlotPool>();
  readonly #leases = new Map<SlotPool, SharedLeases>();
  #timer: NodeJS.Timeout | null = null;

  constructor({ leases }: SlotPoolsOptions) {
    this.#store = leases;
  }

  of({ channel, account }: Pick<Candidate, 'channel' | 'account'>): SlotPool {
    return this.#byAccount.get(account) ?? this.#add(channel, account);
  }

  get all(): Iterable<SlotPool> {
    return this.#byName.values();
  }

  replace({ channels }: Configuration): void {
    const before = new Set(this.#byName.values());
    for (const channel of channels.values())
      for (const account of channel.accounts) before.delete(this.#add(channel, account));
    for (const pool of before) if (pool.inFlight === 0) this.#remove(pool);
  }

  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    await Promise.all([...this.#leases.values()].map((leases) => leases.close()));
  }

  #add(channel: Channel, account: Account): SlotPool {
    const names = { channel: channel.name, account: account.name };
    const name = leasesName(names);
    const maxConcurrent = channel.maxConcurrentPerProcess;
    const bounds = { maxConcurrent, maxWaiting: MAX_WAITING };
    const pool = this.#byName.get(name) ?? new SlotPool(names, bounds);
    this.#byName.set(name, pool);
    this.#byAccount.set(account, pool);
    const { maxConcurrent: limit } = account;
    if (limit === null || this.#store === undefined) {
      void this.#leases.get(pool)?.close();
      this.#leases.delete(pool);
      pool.configure({ ...bounds, maxConcurrent: Math.min(maxConcurrent, limit ?? maxConcurrent) }, null);
      return pool;
    }
    const leases = this.#leases.get(pool) ?? new SharedLeases({ name, pool, store: this.#store, limit });
    leases.limit = limit;
    this.#leases.set(pool, leases);
    pool.configure(bounds, leases);
    this.#timer ??= setInterval(() => this.#renew(), RENEW_MS).unref();
    return pool;
  }

  #remove(pool: SlotPool): void {
    this.#byName.delete(leasesName(pool));
    void this.#leases.get(pool)?.close();
    this.#leases.delete(pool);
  }

  #renew(): void {
    for (const leases of this.#leases.values()) leases.renew();
  }
}
