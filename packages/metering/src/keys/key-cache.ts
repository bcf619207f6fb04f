import type { Identity } from '@gateway/contracts/identity';
import { within } from '@gateway/redis/within';
import type { FoundKey, KeyFinder } from './find-key.ts';
import { NotFilled } from './not-filled.ts';

/** A key in use is looked up again after this time, during the request, so that active keys never wait for Redis. */
const REFRESH_AFTER_MS = 500;
/** An answer is valid for this time at most: a revoked key is refused everywhere within it. */
const TRUSTED_MS = 1000;
/** How long a key without limits still works while Redis is away. */
const TOLERATED_MS = 60_000;
/** While Redis is known to be away, a request with a tolerated key waits for it no longer than this. */
const PATIENCE_MS = 50;
/** How long an unknown secret is refused without another lookup. */
const UNKNOWN_MS = 1000;
const MAX_KNOWN = 50_000;
const MAX_UNKNOWN = 10_000;

export interface KeyCache {
  /**
   * The owner of this secret, or of this keyed hash of one where the cache was made with `findKeyByHash`; undefined if
   * there is none. Immediate for keys in use, else a promise.
   *
   * @throws {GatewayError} `service_unavailable` when Redis is away and the key was not seen within the last minute, or
   * has limits or a budget; and while Redis was emptied
   */
  identify(secret: string): Identity | undefined | Promise<Identity | undefined>;
}

interface KnownKey extends FoundKey {
  readonly confirmedAtMs: number;
}

/**
 * Caches keys in the process. Each process notices a revocation by looking keys up again, not by messages: this bound
 * needs two small reads per key, process and half second, and no lost message can exceed it.
 *
 * Secrets are looked up in a map by their text. That comparison is not constant in time, but it happens only after
 * equal hashes under V8's random seed, so that its duration reveals nothing about secrets that do not match.
 */
export function createKeyCache({
  findKey,
  now,
  uptime,
}: {
  findKey: KeyFinder['findKey'];
  /** Unix milliseconds, for the end of a key. */
  now: () => number;
  /** Milliseconds of a clock that nobody sets, for the age of an answer: a clock set back must not make it young. */
  uptime: () => number;
}): KeyCache {
  const known = new Map<string, KnownKey>();
  const unknown = new Map<string, { untilMs: number }>();
  const lookups = new Map<string, Promise<Identity | undefined>>();
  let away = false;

  const lookUp = (secret: string): Promise<Identity | undefined> => {
    const underway = lookups.get(secret);
    if (underway !== undefined) return underway;
    const answer = findInStore(secret).finally(() => lookups.delete(secret));
    lookups.set(secret, answer);
    return answer;
  };

  const findInStore = async (secret: string): Promise<Identity | undefined> => {
    const startedAtMs = uptime();
    try {
      const found = await findKey(secret);
      away = false;
      return found === undefined ? forget(secret, startedAtMs) : remember(secret, found, startedAtMs);
    } catch (error) {
      away = !(error instanceof NotFilled);
      throw error;
    }
  };

  const remember = (secret: string, found: FoundKey, startedAtMs: number): Identity => {
    const before = known.get(secret);
    const identity =
      before !== undefined && same(before.identity, found.identity) ? before.identity : found.identity;
    known.delete(secret);
    known.set(secret, { identity, expiresAtMs: found.expiresAtMs, confirmedAtMs: startedAtMs });
    dropOldest(known, MAX_KNOWN, (key) => key.confirmedAtMs + TOLERATED_MS <= startedAtMs);
    unknown.delete(secret);
    return identity;
  };

  const forget = (secret: string, startedAtMs: number): undefined => {
    known.delete(secret);
    unknown.delete(secret);
    unknown.set(secret, { untilMs: startedAtMs + UNKNOWN_MS });
    dropOldest(unknown, MAX_UNKNOWN, ({ untilMs }) => untilMs <= startedAtMs);
  };

  /** Limits and budgets cannot be enforced without Redis, so keys that have any are refused. */
  const tolerated = ({ identity, confirmedAtMs, expiresAtMs }: KnownKey): boolean => {
    const ageMs = uptime() - confirmedAtMs;
    return identity.accounts.length === 0 && now() < expiresAtMs && ageMs < TOLERATED_MS;
  };

  return {
    identify: (secret) => {
      const uptimeMs = uptime();
      const key = known.get(secret);
      if (key === undefined || now() >= key.expiresAtMs) {
        const refused = unknown.get(secret);
        return refused !== undefined && uptimeMs < refused.untilMs ? undefined : lookUp(secret);
      }
      const ageMs = uptimeMs - key.confirmedAtMs;
      if (ageMs < REFRESH_AFTER_MS) return key.identity;
      const answer = lookUp(secret);
      if (ageMs < TRUSTED_MS) {
        answer.catch(() => undefined);
        return key.identity;
      }
      // A Redis that answers would know of a revocation, had it not been emptied: nobody gets in who may have been revoked.
      const tolerate = (error: unknown) => {
        if (!(error instanceof NotFilled) && tolerated(key)) return key.identity;
        throw error;
      };
      if (away && tolerated(key)) return within(PATIENCE_MS, answer, () => key.identity).catch(tolerate);
      return answer.catch(tolerate);
    },
  };
}

const same = (a: Identity, b: Identity): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Maps remember the order of insertion, so the first entries are the oldest. */
function dropOldest<T>(entries: Map<string, T>, most: number, isOver: (entry: T) => boolean): void {
  for (const [secret, entry] of entries) {
    if (entries.size <= most && !isOver(entry)) return;
    entries.delete(secret);
  }
}
