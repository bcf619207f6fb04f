import { BatchCounts, type BatchFace, TextBatchInput } from '@gateway/contracts/jobs';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { away } from './away.ts';
import { type ObjectPage, type PageQuery, pageOf } from './key-list.ts';
import { ProviderNote } from './provider-note.ts';

/** What is wrong with a batch, or with one of its lines. */
export const BatchProblem = z.object({
  code: z.string(),
  message: z.string(),
  param: z.string().nullable(),
  line: z.int().min(1).nullable(),
});
export type BatchProblem = z.infer<typeof BatchProblem>;

/** What became of the lines of a batch. */
const LineOutcomes = z.object({
  succeeded: z.int().min(0),
  errored: z.int().min(0),
  canceled: z.int().min(0),
  expired: z.int().min(0),
});
export type LineOutcomes = z.infer<typeof LineOutcomes>;

const BatchEnd = z.object({
  status: z.enum(['completed', 'failed', 'expired', 'cancelled']),
  atMs: z.number(),
  counts: BatchCounts,
  outcomes: LineOutcomes,
  /** What its lines came to, by the name of the file. */
  files: z.record(z.string(), z.string()),
  problems: z.array(BatchProblem),
  usage: z.object({
    inputTokens: z.int().min(0),
    cachedInputTokens: z.int().min(0),
    outputTokens: z.int().min(0),
    reasoningTokens: z.int().min(0),
  }),
});
/** How a batch has ended. */
export type BatchEnd = z.infer<typeof BatchEnd>;

/** A batch of text requests, as every replica sees it. Its id is its job's. Times are Unix milliseconds. */
export interface BatchRecord extends Omit<TextBatchInput, 'lines'> {
  readonly id: string;
  readonly keyId: string;
  readonly inProgressAtMs: number | null;
  readonly finalizingAtMs: number | null;
  readonly cancellingAtMs: number | null;
  /** How many lines it has; null before they have been looked at. */
  readonly lines: number | null;
  /** The model that all of its lines name; null where they name several, or before they have been looked at. */
  readonly onlyModel: string | null;
  readonly end: BatchEnd | null;
  /** How far a provider is with its lines; null: the gateway does them itself. */
  readonly provider: ProviderNote | null;
}

const Made = TextBatchInput.extend({ keyId: z.string() });

/** Times that are set once, by the first process to do so. */
type Mark = 'inProgressAtMs' | 'finalizingAtMs' | 'cancellingAtMs';

/** Batches of text requests in Redis, for longer than their jobs are remembered. All methods throw `service_unavailable` while it is away. */
export interface BatchRecords {
  /** A second call for the same batch changes nothing. */
  create(id: string, made: z.infer<typeof Made>): Promise<void>;
  find(id: string): Promise<BatchRecord | undefined>;
  list(keyId: string, face: BatchFace, query: PageQuery): Promise<ObjectPage<BatchRecord> | undefined>;
  mark(id: string, mark: Mark, atMs: number): Promise<void>;
  /** Its lines have been looked at. */
  checked(id: string, found: { readonly lines: number; readonly onlyModel: string | null }): Promise<void>;
  /** What is known of it at a provider from now on. Only who has the claim on that notes it. */
  noteProvider(id: string, note: ProviderNote): Promise<void>;
  /** The first end counts. */
  end(id: string, end: BatchEnd): Promise<void>;
  remove(batch: BatchRecord): Promise<void>;
  /** Those that have not ended and were made before this time. */
  openBefore(atMs: number): Promise<string[]>;
  /** Lets one process at a time put a batch's results together: true for the one that may, until it `releases` it or is not heard of for a minute. */
  claim(id: string, by: string): Promise<boolean>;
  release(id: string, by: string): Promise<void>;
}

const PREFIX = 'gateway:{batches}';
const OPEN = `${PREFIX}:open`;
const batchKey = (id: string): string => `${PREFIX}:batch:${id}`;
const claimKey = (id: string): string => `${PREFIX}:claim:${id}`;
const listKey = (face: BatchFace, keyId: string): string => `${PREFIX}:of:${face}:${keyId}`;

/** Longer than results are kept. */
const KEPT_SECONDS = 33 * 86_400;
const CLAIM_MS = 60_000;
/** The newest of a key that are listed. */
const MAX_LISTED = 10_000;
const MAX_OPEN = 1000;

const timeIn = (text: string | undefined): number | null => (text === undefined ? null : Number(text));

export function createBatchRecords(redis: Redis): BatchRecords {
  const find = async (id: string): Promise<BatchRecord | undefined> => {
    const found = await redis.hgetall(batchKey(id));
    if (found.made === undefined) return undefined;
    const made = Made.parse(JSON.parse(found.made));
    return {
      ...made,
      id,
      inProgressAtMs: timeIn(found.inProgressAtMs),
      finalizingAtMs: timeIn(found.finalizingAtMs),
      cancellingAtMs: timeIn(found.cancellingAtMs),
      lines: timeIn(found.lines) ?? made.lines,
      onlyModel: found.onlyModel || null,
      end: found.end === undefined ? null : BatchEnd.parse(JSON.parse(found.end)),
      provider: found.provider === undefined ? null : ProviderNote.parse(JSON.parse(found.provider)),
    };
  };

  return {
    create: async (id, made) => {
      const list = listKey(made.face, made.keyId);
      await away(
        redis
          .multi()
          .hsetnx(batchKey(id), 'made', JSON.stringify(made))
          .expire(batchKey(id), KEPT_SECONDS)
          .zadd(OPEN, made.createdAtMs, id)
          .zadd(list, made.createdAtMs, id)
          .zremrangebyrank(list, 0, -MAX_LISTED - 1)
          .zremrangebyscore(list, '-inf', made.createdAtMs - KEPT_SECONDS * 1000)
          .expire(list, KEPT_SECONDS)
          .exec(),
      );
    },
    find: (id) => away(find(id)),
    list: (keyId, face, query) => away(pageOf(redis, listKey(face, keyId), query, find)),
    mark: async (id, mark, atMs) => void (await away(redis.hsetnx(batchKey(id), mark, atMs))),
    checked: async (id, { lines, onlyModel }) =>
      void (await away(redis.hset(batchKey(id), { lines, onlyModel: onlyModel ?? '' }))),
    noteProvider: async (id, note) =>
      void (await away(redis.hset(batchKey(id), 'provider', JSON.stringify(note)))),
    end: async (id, end) => {
      await away(
        redis
          .multi()
          .hsetnx(batchKey(id), 'end', JSON.stringify(end))
          .expire(batchKey(id), KEPT_SECONDS)
          .zrem(OPEN, id)
          .exec(),
      );
    },
    remove: async ({ id, face, keyId }) => {
      await away(redis.multi().del(batchKey(id)).zrem(listKey(face, keyId), id).zrem(OPEN, id).exec());
    },
    openBefore: (atMs) => away(redis.zrange(OPEN, '-inf', String(atMs), 'BYSCORE', 'LIMIT', 0, MAX_OPEN)),
    claim: async (id, by) => {
      if ((await away(redis.set(claimKey(id), by, 'PX', CLAIM_MS, 'NX'))) !== null) return true;
      if ((await away(redis.get(claimKey(id)))) !== by) return false;
      await away(redis.pexpire(claimKey(id), CLAIM_MS));
      return true;
    },
    release: async (id, by) => {
      if ((await away(redis.get(claimKey(id)))) === by) await away(redis.del(claimKey(id)));
    },
  };
}
