import { within } from '@gateway/redis/within';
import type { HealthMemory } from '../channel-health.ts';
import { PROBE_MS } from '../probing.ts';
import { fromShared, type Rest, type RestSharing, restField, toShared } from './rest.ts';
import type { RestStore } from './rest-store.ts';

/** How often a replica checks whether the rests have changed: all of them know of a change within a second. */
const POLL_MS = 500;
/** While Redis does not answer, a request that wants to probe waits for it no longer than this. */
const MAX_PROBE_WAIT_MS = 300;

export interface ShareOptions {
  readonly store: RestStore;
  readonly clock: () => number;
  readonly pollMs?: number;
  /** Called once when Redis cannot be read, and again only after it could. */
  readonly onProblem: (error: unknown) => void;
}

export interface SharedRests extends RestSharing {
  /** Reads the rests, and follows their changes. Rejects only for internal errors: without Redis this process's own rests hold. */
  follow(memory: Followed): Promise<void>;
  close(): Promise<void>;
}

type Followed = Pick<HealthMemory, 'adopt' | 'rests'>;

type Change = { readonly rest: Rest; readonly kind: 'began' | 'ended' };

/**
 * Shares rests through Redis. Changes made here are kept until Redis has them; changes made elsewhere are found by a
 * counter, because a message that is lost would leave replicas with different views.
 */
export const shareRests = ({ store, clock, pollMs = POLL_MS, onProblem }: ShareOptions): SharedRests => {
  /** By field: what Redis does not have yet. */
  const pending = new Map<string, Change>();
  const probes = new Set<string>();
  let memory: Followed | null = null;
  let seen: string | null = null;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  let isQueued = false;
  let isAway = false;
  let isClosed = false;

  const flush = async (offset: number): Promise<void> => {
    if (pending.size === 0) return;
    const changes = [...pending];
    await store.write({
      put: changes.flatMap(([, { kind, rest }]) => (kind === 'began' ? toShared(rest, offset) : [])),
      remove: changes.flatMap(([field, { kind }]) => (kind === 'ended' ? field : [])),
    });
    for (const [field, change] of changes) if (pending.get(field) === change) pending.delete(field);
  };

  /** Writes what is pending, and reads what has changed. Redis' clock is common to all replicas. */
  const exchange = async (version: string): Promise<void> => {
    const askedMs = clock();
    const redisMs = await store.time();
    const offsetMs = redisMs - (askedMs + clock()) / 2;
    if (Number(version) < Number(seen)) restore();
    await flush(offsetMs);
    if (version === seen) return;
    const shared = await store.read(redisMs);
    memory?.adopt(
      shared.map((rest) => fromShared(rest, offsetMs)),
      isPending,
    );
    seen = version;
  };

  /** Redis lost its latest changes, or everything: it gets what this process knows. */
  const restore = (): void => {
    for (const rest of memory?.rests() ?? []) pending.set(restField(rest), { rest, kind: 'began' });
  };

  const isPending = (rest: Rest): boolean => pending.has(restField(rest));

  const round = async (): Promise<void> => {
    isQueued = false;
    if (isClosed && pending.size === 0) return;
    try {
      const version = await store.version();
      if (pending.size > 0 || version !== seen) await exchange(version);
      isAway = false;
    } catch (error) {
      if (!isAway && !isClosed) onProblem(error);
      isAway = true;
    }
  };

  /** One round after the other: a round that reads never overtakes one that writes. */
  const soon = (): Promise<void> => {
    if (isQueued) return running;
    isQueued = true;
    running = running.then(round);
    return running;
  };

  const poll = (): void => {
    void soon().then(() => {
      if (!isClosed) timer = setTimeout(poll, pollMs).unref();
    });
  };

  const change = (rest: Rest, kind: Change['kind']): void => {
    pending.set(restField(rest), { rest, kind });
    void soon();
  };

  return {
    began: (rest) => change(rest, 'began'),
    ended: (rest) => change(rest, 'ended'),
    async beginProbe(rest) {
      const field = restField(rest);
      const lease = store.beginProbe(field, PROBE_MS).catch(() => true);
      const isOurs = await within(MAX_PROBE_WAIT_MS, lease, () => true);
      if (isOurs) probes.add(field);
      return isOurs;
    },
    endProbe(rest) {
      const field = restField(rest);
      if (probes.delete(field)) store.endProbe(field).catch(() => undefined);
    },
    async follow(followed) {
      memory = followed;
      await soon();
      timer = setTimeout(poll, pollMs).unref();
    },
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await running;
      await soon();
    },
  };
};
