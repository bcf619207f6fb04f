/** The bound that all replicas keep together, as this process knows it. */
export interface SharedBound {
  /** How many of its requests may be in flight now. */
  readonly allowed: number;
  /**
   * Requests more, or gives back what is not needed. Resolves when `allowed` is current; null: it is already, so that
   * waiting for an answer would change nothing.
   */
  refresh(): Promise<void> | null;
  /** Called when a request has taken a slot: to request more before they are needed. */
  taken(): void;
  /** Called when a request has ended and no other one of this process took its slot. */
  released(): void;
  /** Gives everything back. */
  close(): Promise<void>;
}

/** A request that waits for a slot, of this pool or of others. */
export interface SlotWaiter {
  /** Called with the pool that has taken a slot for it. False: it does not want it any more. */
  give(pool: SlotPool): boolean;
}

export interface SlotBounds {
  readonly maxConcurrent: number;
  /** How many requests may wait at a time. */
  readonly maxWaiting: number;
}

/** The slots of one account: how many of its requests may be in flight at a time, and which requests wait for one, in their order. */
export class SlotPool {
  readonly channel: string;
  readonly account: string;
  readonly #waiters = new Set<SlotWaiter>();
  #bounds: SlotBounds;
  #shared: SharedBound | null = null;
  #inFlight = 0;
  #refreshing = 0;

  constructor(names: { readonly channel: string; readonly account: string }, bounds: SlotBounds) {
    this.channel = names.channel;
    this.account = names.account;
    this.#bounds = bounds;
  }

  /** Requests that have taken a slot and not ended. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Requests that wait for a slot. */
  get waiting(): number {
    return this.#waiters.size;
  }

  /** The slots that would be taken now if there were enough. */
  get needed(): number {
    return this.#inFlight + this.#waiters.size + this.#refreshing;
  }

  /** Other bounds hold from now on; requests in flight stay. */
  configure(bounds: SlotBounds, shared: SharedBound | null): void {
    this.#bounds = bounds;
    this.#shared = shared;
    this.serve();
  }

  get #isFree(): boolean {
    const allowed = this.#shared?.allowed ?? this.#bounds.maxConcurrent;
    return this.#inFlight < Math.min(allowed, this.#bounds.maxConcurrent);
  }

  /** Takes a slot; exactly one `release` must follow. A promise while the lease is refreshed. Requests that wait keep their order. */
  take(): boolean | Promise<boolean> {
    if (this.#waiters.size > 0) return false;
    if (this.#isFree) return this.#take();
    if (this.#inFlight >= this.#bounds.maxConcurrent) return false;
    return this.#shared === null ? false : this.#refresh(this.#shared);
  }

  #refresh(shared: SharedBound): boolean | Promise<boolean> {
    this.#refreshing += 1;
    const answered = (): boolean => {
      this.#refreshing -= 1;
      return this.#waiters.size === 0 && this.#isFree && this.#take();
    };
    const refreshed = shared.refresh();
    return refreshed === null ? answered() : refreshed.then(answered);
  }

  /** Queues for a slot. False: too many wait. */
  wait(waiter: SlotWaiter): boolean {
    if (this.#waiters.size >= this.#bounds.maxWaiting) return false;
    this.#waiters.add(waiter);
    this.serve();
    if (this.#waiters.has(waiter)) this.#shared?.refresh();
    return true;
  }

  leave(waiter: SlotWaiter): void {
    this.#waiters.delete(waiter);
  }

  release(): void {
    this.#inFlight -= 1;
    if (this.#waiters.size > 0) this.serve();
    this.#shared?.released();
  }

  /** Gives free slots to those who wait. */
  serve(): void {
    for (const waiter of this.#waiters) {
      if (!this.#isFree) return;
      this.#waiters.delete(waiter);
      this.#take();
      if (!waiter.give(this)) this.#inFlight -= 1;
    }
  }

  #take(): true {
    this.#inFlight += 1;
    this.#shared?.taken();
    return true;
  }
}
