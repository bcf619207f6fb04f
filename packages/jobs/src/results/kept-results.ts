import type { AssetStore } from '@gateway/assets/asset-store';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { defineScript, readScript } from '@gateway/redis/define-script';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import {
  deliveredResultsKey,
  QUEUE_PREFIX,
  RESULTS_KEY,
  resultBytesKey,
  resultKey,
  resultsOfKey,
} from '../redis/job-keys.ts';

/** How a caller has got a result: all of it, or URLs under which its files lie. */
export type Delivery = 'whole' | 'by URL';

const MINUTE_MS = 60_000;
/** How long a fetched result is kept: for a caller whose connection broke at the end; or for the life of its URLs and a little more. */
const KEPT_AFTER_MS: Readonly<Record<Delivery, number>> = { whole: 10 * MINUTE_MS, 'by URL': 65 * MINUTE_MS };

const SWEPT_AT_ONCE = 100;

export interface ResultToKeep {
  readonly jobId: string;
  readonly keyId: string;
  readonly assets: readonly { readonly id: string; readonly sizeBytes: number }[];
  /** How long it is kept until somebody has fetched it. */
  readonly retentionSeconds: number;
  /** Until when it is kept in any case, in Unix milliseconds. */
  readonly heldUntilMs?: number;
}

/** The results of jobs, by key: how large they are and how long they are kept. Everything is in Redis, so that replicas share it. */
export interface KeptResults {
  /** Call it when a result is stored. A second call for the same job replaces the first. */
  keep(result: ResultToKeep): Promise<void>;
  /** Call it when a caller has got the result. It is then kept for a shorter time; if it is fetched again, longer than from now. */
  delivered(jobId: string, how: Delivery): Promise<void>;
  /** When a result expires, in Unix milliseconds; null if there is none. */
  expiryOf(jobId: string): Promise<number | null>;
  /** Deletes a result with its assets. Resolves to whether there was one. */
  remove(jobId: string): Promise<boolean>;
  /**
   * Refuses where the results of a key already take so many bytes. Those that it has got make room, the ones that expire first before
   * others; one that nobody has got never does.
   *
   * @throws {GatewayError} `result_quota_exhausted`
   */
  ensureRoom(keyId: string, maxBytes: number): Promise<void>;
  /** Deletes what has expired. Resolves to how many results that were. */
  sweep(): Promise<number>;
}

const script = (name: string): string => readScript(new URL(name, import.meta.url));
const KEEP = script('./keep-result.lua');
const DELIVER = script('./deliver-result.lua');
const DROP = script('./drop-result.lua');

interface Options {
  /** A connection of this process; the scripts are defined on it. */
  readonly redis: Redis;
  readonly assets: Pick<AssetStore, 'delete'>;
  /** Unix milliseconds. */
  readonly now: () => number;
}

const AssetIds = z.array(z.string());

export function createKeptResults({ redis, assets, now }: Options): KeptResults {
  const keep = defineScript(redis, 'gatewayKeepResult', KEEP, z.unknown());
  const deliver = defineScript(redis, 'gatewayDeliverResult', DELIVER, z.unknown());
  const dropResult = defineScript(redis, 'gatewayDropResult', DROP, z.string().nullable());
  const argumentsOf = (jobId: string) => [[resultKey(jobId), RESULTS_KEY], QUEUE_PREFIX, jobId] as const;

  const drop = async (jobId: string, expiredBy: number | '+inf'): Promise<boolean> => {
    const dropped = await dropResult(...argumentsOf(jobId), expiredBy);
    if (dropped === null) return false;
    // Should this not succeed, they go with the assets that nobody knows of any more.
    await assets.delete(...AssetIds.parse(JSON.parse(dropped)));
    return true;
  };
  const bytesOf = async (keyId: string) => Number((await redis.get(resultBytesKey(keyId))) ?? 0);

  const refusal = async (keyId: string, bytes: number, maxBytes: number): Promise<GatewayError> => {
    const [, expires] = await redis.zrange(resultsOfKey(keyId), '0', '0', 'WITHSCORES');
    const retryAfterSeconds = Math.max(1, Math.ceil((Number(expires ?? 0) - now()) / 1000));
    return new GatewayError('result_quota_exhausted', {
      message:
        `Unfetched results take ${bytes} bytes, and this key may store ${maxBytes}. ` +
        `Fetch or delete some, or wait ${retryAfterSeconds}s until the first one expires.`,
      retryAfterSeconds,
    });
  };

  return {
    keep: async ({ jobId, keyId, assets: kept, retentionSeconds, heldUntilMs = 0 }) => {
      const bytes = kept.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
      const ids = JSON.stringify(kept.map(({ id }) => id));
      const expiresAtMs = Math.max(now() + retentionSeconds * 1000, heldUntilMs);
      await keep(...argumentsOf(jobId), keyId, bytes, ids, heldUntilMs, expiresAtMs);
    },
    delivered: async (jobId, how) => {
      const nowMs = now();
      await deliver(...argumentsOf(jobId), nowMs, nowMs + KEPT_AFTER_MS[how]);
    },
    expiryOf: async (jobId) => {
      const expires = await redis.zscore(RESULTS_KEY, jobId);
      return expires === null ? null : Number(expires);
    },
    remove: (jobId) => drop(jobId, '+inf'),
    ensureRoom: async (keyId, maxBytes) => {
      let bytes = await bytesOf(keyId);
      while (bytes >= maxBytes) {
        const [first] = await redis.zrange(deliveredResultsKey(keyId), '0', '0');
        if (first === undefined) throw await refusal(keyId, bytes, maxBytes);
        // One that is not known any more must not be found for ever.
        if (!(await drop(first, '+inf'))) await redis.zrem(deliveredResultsKey(keyId), first);
        bytes = await bytesOf(keyId);
      }
    },
    sweep: async () => {
      const nowMs = now();
      let swept = 0;
      for (;;) {
        const expired = await redis.zrange(
          RESULTS_KEY,
          '-inf',
          String(nowMs),
          'BYSCORE',
          'LIMIT',
          0,
          SWEPT_AT_ONCE,
        );
        for (const jobId of expired) if (await drop(jobId, nowMs)) swept += 1;
        if (expired.length < SWEPT_AT_ONCE) return swept;
      }
    },
  };
}
