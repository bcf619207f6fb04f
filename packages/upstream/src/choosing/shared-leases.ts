import type { LeaseStore } from './lease-store.ts';
import type { SharedBound, SlotPool } from './slot-pool.ts';

interface SharedLeasesOptions {
  /** The account's name, the same in all replicas. */
  readonly name: string;
  readonly pool: Pick<SlotPool, 'inFlight' | 'waiting' | 'needed' | 'serve'>;
  readonly store: LeaseStore;
  /** How many requests of all replicas may be in flight. */
  readonly limit: number;
}

/** A process holds slots beyond those that it uses, so that its requests need not wait for Redis: this part of the limit. */
const SPARE_PART = 8;
/** Redis answers within a millisecond; after this time its answer is not waited for any longer. */
const ANSWER_WITHIN_MS = 250;
/** How soon a process whose requests wait sends the next request to Redis. */
const ASK_AGAIN_MS = 25;
/** Without a request for so many renewals, a process holds nothing to spare. */
const IDLE_RENEWALS = 20;

/**
 * A bound that all replicas keep together: each one holds leases of slots in Redis, some more than it uses, and renews them.
 * Leases of a process that died run out by themselves. What is held here is never more than what Redis has written down, so
 * that all replicas together never have more requests in flight than the limit; while Redis does not answer, each keeps to
 * its equal part.
 */
export class SharedLeases implements SharedBound {
  readonly #options: SharedLeasesOptions;
  limit: number;
  #held = 0;
  #others = 0;
  #othersWait = false;
  #hasSpare = false;
  #isAway = false;
  #idleRenewals = 0;
  #askAgain: NodeJS.Timeout | null = null;
  #isClosed = false;
  /** The request to Redis that is under way. Others wait for its answer for a bounded time. */
  #running: Promise<void> | null = null;
  #answered: Promise<void> = Promise.resolve();
  #next: Promise<void> | null = null;

  constructor(options: SharedLeasesOptions) {
    this.#options = options;
    this.limit = options.limit;
  }

  /** While requests of others wait, those beyond an equal part are not followed by new ones. */
  get allowed(): number {
    if (this.#isAway) return this.#equalPart;
    return Math.min(this.#held, this.#othersWait ? this.#equalPart : this.limit);
  }

  get #equalPart(): number {
    return Math.max(1, Math.ceil(this.limit / (this.#others + 1)));
  }

  /** An answer under way does not count a need that arose since: then another request follows. */
  refresh(): Promise<void> | null {
    if (this.#isAway || this.#isClosed) return null;
    if (this.#running === null) return this.#adjust();
    this.#next ??= this.#answered.then(() => {
      this.#next = null;
      if (this.#isAway || this.#isClosed) return undefined;
      return this.#running === null ? this.#adjust() : this.#answered;
    });
    return this.#next;
  }

  taken(): void {
    this.#idleRenewals = 0;
    const left = this.#held - this.#options.pool.inFlight;
    if (this.#hasSpare && this.#running === null && left * 2 < this.#spare) this.refresh();
  }

  /** Where Redis has none to spare, what is not used may be what others need. */
  released(): void {
    const isIdle = this.#held > this.#options.pool.inFlight;
    if (isIdle && (this.#othersWait || !this.#hasSpare)) this.refresh();
  }

  /** Call it every few hundred milliseconds: it keeps what is held, and returns what is not used. */
  renew(): void {
    this.#idleRenewals += 1;
    const { pool } = this.#options;
    const isConcerned = this.#held > 0 || pool.needed > 0 || this.#isAway;
    if (this.#running === null && isConcerned && !this.#isClosed) void this.#adjust();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#askAgain !== null) clearTimeout(this.#askAgain);
    await this.#answered;
    if (this.#held === 0 || this.#isAway) return;
    this.#held = 0;
    const nothing = { held: 0, needed: 0, spare: 0, limit: this.limit, isWaiting: false };
    await this.#options.store.adjust(this.#options.name, nothing).catch(() => undefined);
  }

  get #spare(): number {
    return this.#othersWait || this.#idleRenewals > IDLE_RENEWALS ? 0 : Math.ceil(this.limit / SPARE_PART);
  }

  /** Resolves with Redis's answer, or when that takes too long. */
  #adjust(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      this.#becomeAway();
      resolve();
    }, ANSWER_WITHIN_MS);
    this.#running = this.#exchange().finally(() => {
      clearTimeout(timer);
      this.#running = null;
      resolve();
    });
    this.#answered = promise;
    return promise;
  }

  async #exchange(): Promise<void> {
    const { name, pool, store } = this.#options;
    // Until the answer is here, no more is taken than what is reported as held.
    const kept = this.#hasSpare ? this.#spare : 0;
    this.#held = Math.max(pool.inFlight, Math.min(this.#held, pool.inFlight + kept));
    const { needed } = pool;
    try {
      const reply = await store.adjust(name, {
        held: this.#held,
        needed,
        spare: this.#spare,
        limit: this.limit,
        isWaiting: pool.waiting > 0,
      });
      this.#isAway = false;
      this.#held = reply.granted;
      this.#others = reply.others;
      this.#othersWait = reply.waiting > 0;
      this.#hasSpare = reply.granted > needed;
    } catch {
      this.#becomeAway();
      return;
    }
    pool.serve();
    if (this.#othersWait && this.#held > pool.inFlight) this.refresh();
    else if (pool.waiting > 0) this.#askSoon();
  }

  #askSoon(): void {
    this.#askAgain ??= setTimeout(() => {
      this.#askAgain = null;
      if (this.#options.pool.waiting > 0) this.refresh();
    }, ASK_AGAIN_MS).unref();
  }

  #becomeAway(): void {
    this.#isAway = true;
    this.#options.pool.serve();
  }
}
