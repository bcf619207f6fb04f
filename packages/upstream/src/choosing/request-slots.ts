import type { Candidate } from '../candidate.ts';
import type { SlotPool, SlotWaiter } from './slot-pool.ts';
import type { SlotPools } from './slot-pools.ts';

/** How the wait of a request for a slot ended. */
export type WaitOutcome = 'served' | 'busy' | 'left';

/** The account that a request waited for; the first one, if it waited for several in vain. */
export interface SlotWait {
  readonly channel: string;
  readonly account: string;
  readonly outcome: WaitOutcome;
  readonly durationMs: number;
}

interface RequestSlotsOptions {
  readonly pools: SlotPools;
  readonly signal: AbortSignal | undefined;
  readonly onWait?: ((wait: SlotWait) => void) | undefined;
}

const NOBODY: readonly Candidate[] = [];

/** The slots that one request takes for its attempts, one after the other. */
export class RequestSlots {
  readonly #options: RequestSlotsOptions;
  #taken: SlotPool | null = null;
  /** The candidate that got the slot by waiting for it. */
  #served: Candidate | null = null;
  #busy: readonly Candidate[] = NOBODY;
  #waitUntilMs: number | null = null;

  constructor(options: RequestSlotsOptions) {
    this.#options = options;
  }

  /** Takes a slot of the candidate's account, and gives back one that no attempt has got. False: it has none. */
  take(candidate: Candidate): boolean | Promise<boolean> {
    if (this.#served === candidate) return true;
    this.giveBack();
    const pool = this.#options.pools.of(candidate);
    const taken = pool.take();
    return typeof taken === 'boolean'
      ? this.#took(taken, pool, candidate)
      : taken.then((isTaken) => this.#took(isTaken, pool, candidate));
  }

  /** The slot that was taken last, for the attempt that releases it. */
  handOver(): SlotPool {
    const pool = this.#taken;
    if (pool === null) throw new Error('no slot was taken');
    this.#taken = null;
    this.#served = null;
    return pool;
  }

  /** Call it when no attempt will follow. */
  giveBack(): void {
    this.#taken?.release();
    this.#taken = null;
    this.#served = null;
  }

  /**
   * Waits until one of the candidates without a free slot has one: `take` then has it. Null: there are none, it took too long (by
   * the most patient of their channels, and by `maxMs`), or the caller left.
   */
  waitForOne(maxMs = Number.POSITIVE_INFINITY): Promise<Candidate | null> | null {
    this.giveBack();
    const busy = this.#busy;
    if (busy.length === 0 || this.#options.signal?.aborted) return null;
    const startedAtMs = performance.now();
    this.#waitUntilMs ??= startedAtMs + Math.max(...busy.map(({ channel }) => channel.maxWaitMs));
    const leftMs = Math.min(maxMs, this.#waitUntilMs - startedAtMs);
    return leftMs <= 0 ? null : this.#wait(busy, leftMs, startedAtMs);
  }

  #took(isTaken: boolean, pool: SlotPool, candidate: Candidate): boolean {
    if (isTaken) this.#taken = pool;
    else this.#busy = [...this.#busy, candidate];
    return isTaken;
  }

  #wait(busy: readonly Candidate[], leftMs: number, startedAtMs: number): Promise<Candidate | null> {
    const { pools, signal, onWait } = this.#options;
    const { promise, resolve } = Promise.withResolvers<Candidate | null>();
    const byPool = new Map<SlotPool, Candidate>();
    for (const candidate of busy) {
      const pool = pools.of(candidate);
      if (!byPool.has(pool)) byPool.set(pool, candidate);
    }
    let isOver = false;
    const end = (outcome: WaitOutcome, pool: SlotPool | undefined): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      signal?.removeEventListener('abort', leave);
      for (const one of byPool.keys()) one.leave(waiter);
      const candidate = pool && outcome === 'served' ? (byPool.get(pool) ?? null) : null;
      if (pool !== undefined) {
        const { channel, account } = pool;
        onWait?.({ channel, account, outcome, durationMs: performance.now() - startedAtMs });
      }
      if (candidate !== null) {
        this.#taken = pool ?? null;
        this.#served = candidate;
        this.#busy = busy.filter((one) => one !== candidate);
      }
      resolve(candidate);
    };
    const [first] = byPool.keys();
    const waiter: SlotWaiter = {
      give: (pool) => {
        if (isOver) return false;
        end('served', pool);
        return true;
      },
    };
    const leave = (): void => end('left', first);
    const timer = setTimeout(() => end('busy', first), leftMs);
    signal?.addEventListener('abort', leave);
    let isWaiting = false;
    for (const pool of byPool.keys()) {
      if (isOver) break;
      isWaiting = pool.wait(waiter) || isWaiting;
    }
    if (!isWaiting) end('busy', first);
    return promise;
  }
}
