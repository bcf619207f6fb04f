import { defineScript } from '@gateway/redis/define-script';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { createOperationBatch, type Operation, type OperationBatch } from '../batch/operation-batch.ts';
import { clockArgument, type LimitClock, loadScript, redisClock } from '../load-script.ts';
import { redisNames } from '../redis-names.ts';

/** A check that a request passes before it does anything that costs. */
export type Check =
  | { readonly kind: 'rate'; readonly owner: string /** Requests per minute. */; readonly limit: number }
  | { readonly kind: 'slots'; readonly owner: string /** Requests at once. */; readonly limit: number };

export type Admitted =
  | {
      readonly ok: true /** What is left of each check, in its order. */;
      readonly remaining: readonly number[];
    }
  | {
      readonly ok: false;
      readonly check: Check;
      /** Null where only another request's end helps. */
      readonly waitMs: number | null;
    };

/** An admission that is not sent yet, so that it can go in one step with what follows it. */
export interface PendingAdmission {
  readonly operation: Operation;
  /** Takes the script's answer to the operation. */
  read(answer: unknown): Admitted;
}

export interface Admission {
  /** Lets a request in or not, in one round trip for all checks, exactly on any number of replicas. */
  admit(requestId: string, checks: readonly Check[]): Promise<Admitted>;
  /**
   * The same, not sent yet.
   *
   * @param earlierId of a request that was delivered before: the id under which another process may have admitted it. If that
   * holds a slot, the request has been counted, and goes on with that slot
   */
  prepare(requestId: string, checks: readonly Check[], earlierId?: string): PendingAdmission;
  /** Sends an admission by itself. */
  send(admission: PendingAdmission): Promise<Admitted>;
  /** Frees the request's slots after this turn of the event loop. Never throws: a slot that could not be freed expires with its lease. */
  release(requestId: string, checks: readonly Check[]): void;
  /** Stops renewing, and frees what is still to be freed. */
  close(): Promise<void>;
}

const RENEW = loadScript(new URL('./renew.lua', import.meta.url));

/** A crashed replica's slots are free again after this time at the latest. */
const LEASE_MS = 60_000;
const RENEW_EVERY_MS = 20_000;
/** Slots to free when Redis is back; those beyond this number expire with their leases. */
const MAX_UNFREED = 10_000;

/** The script's answer: 0 or the number of the check that refuses, and numbers that belong to it. */
const AdmitAnswer = z.array(z.number());

const checkKey = ({ kind, owner }: Check): string =>
  kind === 'rate' ? redisNames.rate(owner, 'requests', null) : redisNames.slots(owner);

interface AdmissionOptions {
  readonly redis: Redis;
  readonly clock?: LimitClock;
  /** Over the same connection. */
  readonly batch?: OperationBatch;
}

export function createAdmission({
  redis,
  clock = redisClock,
  batch = createOperationBatch({ redis, clock }),
}: AdmissionOptions): Admission {
  const renewSlots = defineScript(redis, 'gatewayRenewSlots', RENEW, z.number());
  /** Ids of the running requests that hold a slot, by the slot's Redis key. */
  const held = new Map<string, Set<string>>();

  const slots = (checks: readonly Check[]) => checks.filter(({ kind }) => kind === 'slots').map(checkKey);

  /** Not freed yet because Redis did not answer. */
  let unfreed: Operation[] = [];
  const free = (operation: Operation): void => {
    batch.runSoon(operation).catch(() => {
      if (unfreed.length < MAX_UNFREED) unfreed.push(operation);
    });
  };
  const freeAgain = (): void => {
    const again = unfreed;
    unfreed = [];
    for (const operation of again) free(operation);
  };

  const renew = (key: string, ids: Iterable<string>) =>
    renewSlots([key], clockArgument(clock), LEASE_MS, ...ids);
  const renewing = setInterval(() => {
    for (const [key, ids] of held) renew(key, ids).catch(() => undefined);
  }, RENEW_EVERY_MS).unref();

  const prepare: Admission['prepare'] = (requestId, checks, earlierId) => ({
    operation: {
      name: 'admit',
      keys: checks.map(checkKey),
      args: [
        requestId,
        LEASE_MS,
        ...checks.flatMap(({ kind, limit }) => [kind, limit]),
        ...(earlierId === undefined ? [] : [earlierId]),
      ],
    },
    read: (answer) => {
      if (unfreed.length > 0) freeAgain();
      const [failed = 0, ...rest] = AdmitAnswer.parse(answer);
      const check = failed > 0 ? checks[failed - 1] : undefined;
      if (check !== undefined) {
        const [waitMs = -1] = rest;
        return { ok: false, check, waitMs: waitMs < 0 ? null : waitMs };
      }
      for (const key of slots(checks)) held.set(key, (held.get(key) ?? new Set()).add(requestId));
      return { ok: true, remaining: rest };
    },
  });

  const send: Admission['send'] = async ({ operation, read }) => read(await batch.run(operation));

  return {
    admit: (requestId, checks) => send(prepare(requestId, checks)),
    prepare,
    send,
    release: (requestId, checks) => {
      for (const key of slots(checks)) {
        const ids = held.get(key);
        ids?.delete(requestId);
        if (ids?.size === 0) held.delete(key);
        free({ name: 'free', keys: [key], args: [requestId] });
        // A caller that has seen the end of the request may send the next one.
        void batch.sent();
      }
    },
    close: () => {
      clearInterval(renewing);
      return batch.flush();
    },
  };
}
