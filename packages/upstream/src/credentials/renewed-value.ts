/** What a source gives: a token, or keys to sign with. */
export interface Fetched<Value> {
  readonly value: Value;
  /** Milliseconds since 1970; null: it does not expire. */
  readonly expiresAtMs: number | null;
}

interface RenewedValueOptions<Value> {
  /** Ended by the signal when it has taken too long. */
  readonly fetch: (signal: AbortSignal) => Promise<Fetched<Value>>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** How long one fetch may take. */
  readonly fetchMs: number;
  /** Called after every fetch; null: it succeeded. */
  readonly onFetched: (failure: Error | null) => void;
}

/** A value is renewed this long before it expires; one with a short life in the last fifth of it. */
const AHEAD_MS = 5 * 60_000;
const AHEAD_SHARE = 0.2;
/** It counts as expired this much earlier, so that it does not expire on its way; at most a twentieth of its life. */
const MARGIN_MS = 30_000;
const MARGIN_SHARE = 0.05;
const UNKNOWN_LIFE_MS = 60_000;
/** A failed fetch is not repeated sooner, so that an identity provider in trouble is not asked at every request. */
const MIN_RETRY_MS = 1_000;
const MAX_RETRY_MS = 30_000;
/** What was fetched less than this ago is not fetched again because it was refused: it is not refused for its age. */
const MIN_RENEW_MS = 10_000;

interface Held<Value> extends Fetched<Value> {
  readonly fetchedAtMs: number;
  readonly renewAtMs: number;
  readonly uselessAtMs: number;
}

/**
 * A value that expires and is fetched again ahead of time: by one fetch for all, and in use until the new one is there.
 * Nothing runs while nobody asks.
 */
export class RenewedValue<Value> {
  readonly #options: RenewedValueOptions<Value>;
  #held: Held<Value> | null = null;
  #fetching: Promise<Held<Value>> | null = null;
  #failures = 0;
  #retryAtMs = 0;
  #failure: Error | null = null;

  constructor(options: RenewedValueOptions<Value>) {
    this.#options = options;
  }

  /** When the present value expires; null: there is none, or it does not. */
  get expiresAtMs(): number | null {
    return this.#held?.expiresAtMs ?? null;
  }

  /** At once while there is a valid value. Rejects with why there is none. */
  get(): Value | Promise<Value> {
    const held = this.#held;
    const nowMs = this.#options.now();
    if (held === null || nowMs >= held.uselessAtMs) return this.#awaitFetch(nowMs);
    if (nowMs >= held.renewAtMs && nowMs >= this.#retryAtMs) this.#fetch().catch(() => undefined);
    return held.value;
  }

  /** Fetches another value because this one was refused. Resolves to whether there is another one now. */
  async replace(refused: unknown): Promise<boolean> {
    const held = this.#held;
    if (held === null || held.value !== refused) return true;
    if (this.#options.now() - held.fetchedAtMs < MIN_RENEW_MS) return false;
    return this.#fetch().then(
      ({ value }) => value !== refused,
      () => false,
    );
  }

  async #awaitFetch(nowMs: number): Promise<Value> {
    if (this.#fetching === null && this.#failure !== null && nowMs < this.#retryAtMs) throw this.#failure;
    return (await this.#fetch()).value;
  }

  #fetch(): Promise<Held<Value>> {
    this.#fetching ??= this.#fetchOnce().finally(() => {
      this.#fetching = null;
    });
    return this.#fetching;
  }

  async #fetchOnce(): Promise<Held<Value>> {
    const { fetch, fetchMs, now, onFetched } = this.#options;
    const late = Promise.withResolvers<never>();
    const ending = new AbortController();
    const timer = setTimeout(() => {
      late.reject(new Error(`no answer within ${fetchMs} ms`));
      ending.abort();
    }, fetchMs);
    try {
      const held = lifeOf(await Promise.race([fetch(ending.signal), late.promise]), now());
      this.#held = held;
      this.#failures = 0;
      this.#retryAtMs = 0;
      this.#failure = null;
      onFetched(null);
      return held;
    } catch (caught) {
      const failure = caught instanceof Error ? caught : new Error(String(caught));
      this.#retryAtMs = now() + Math.min(MAX_RETRY_MS, MIN_RETRY_MS * 2 ** this.#failures);
      this.#failures += 1;
      this.#failure = failure;
      onFetched(failure);
      throw failure;
    } finally {
      clearTimeout(timer);
    }
  }
}

function lifeOf<Value>({ value, expiresAtMs }: Fetched<Value>, nowMs: number): Held<Value> {
  if (expiresAtMs === null)
    return { value, expiresAtMs, fetchedAtMs: nowMs, renewAtMs: Infinity, uselessAtMs: Infinity };
  // What arrives expired tells that this machine's clock is wrong.
  const lifeMs = expiresAtMs > nowMs ? expiresAtMs - nowMs : UNKNOWN_LIFE_MS;
  const endsAtMs = nowMs + lifeMs;
  return {
    value,
    expiresAtMs,
    fetchedAtMs: nowMs,
    renewAtMs: endsAtMs - Math.min(AHEAD_MS, lifeMs * AHEAD_SHARE),
    uselessAtMs: endsAtMs - Math.min(MARGIN_MS, lifeMs * MARGIN_SHARE),
  };
}
