import { createHash, randomBytes } from 'node:crypto';
import type { Asset, AssetSource, AssetStore, ByteRange } from '@gateway/assets/asset-store';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { defineScript, readScript } from '@gateway/redis/define-script';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { away } from './away.ts';
import { type ObjectPage, type PageQuery, pageOf } from './key-list.ts';

const FileRecord = z.object({
  id: z.string(),
  keyId: z.string(),
  filename: z.string(),
  purpose: z.string(),
  sizeBytes: z.int().min(0),
  createdAtMs: z.number(),
  expiresAtMs: z.number(),
});
/** A file that is kept for a key. Times are Unix milliseconds. */
export type StoredFile = z.infer<typeof FileRecord>;

export interface NewFile extends Omit<StoredFile, 'sizeBytes'> {
  /** Whether its key finds it in its list. */
  readonly isListed: boolean;
  /** As of `ensureRoom`, which several uploads may have passed at the same time. Absent: there is room, for any number of files. */
  readonly maxKeyBytes?: number;
}

/**
 * Files that callers bring and get: their bytes lie in a folder or a bucket, what is known of them in Redis. Each has an end, and counts on
 * what its key may keep. All methods throw `service_unavailable` while Redis or the store is away.
 */
export interface StoredFiles {
  /** Stores the whole or nothing. The same id again replaces what was there. @throws {GatewayError} `storage_full`, `result_quota_exhausted`; what the source throws */
  put(file: NewFile, source: AssetSource): Promise<StoredFile>;
  /** Undefined for one that has gone, and for another key's. */
  find(id: string, keyId: string): Promise<StoredFile | undefined>;
  list(
    keyId: string,
    query: PageQuery & { readonly purpose?: string | undefined },
  ): Promise<ObjectPage<StoredFile> | undefined>;
  /** Its bytes, also where its caller has deleted it and somebody still holds it. */
  open(id: string, range?: ByteRange): Promise<Asset | undefined>;
  /** Keeps its bytes until then at least, though it expires or is deleted. False where there is no such file. */
  hold(id: string, untilMs: number): Promise<boolean>;
  remove(id: string): Promise<void>;
  /** Removes one that nobody else works on. */
  discard(id: string): Promise<void>;
  /** @throws {GatewayError} `result_quota_exhausted` where the key's files take so many bytes, or are as many as a key may have */
  ensureRoom(keyId: string, maxBytes: number): Promise<void>;
  /** Deletes what has expired, and what nobody knows of. Resolves to how many files that were. */
  sweep(): Promise<number>;
}

const PREFIX = 'gateway:{files}';
const EXPIRIES = `${PREFIX}:expiries`;
const fileKey = (id: string): string => `${PREFIX}:file:${id}`;
const listKey = (keyId: string): string => `${PREFIX}:of:${keyId}`;
const bytesKey = (keyId: string): string => `${PREFIX}:bytes:${keyId}`;

/** Files that a key finds in its list, before it can upload no more. */
const MAX_FILES_PER_KEY = 10_000;
/** The longest life of a file. */
export const MAX_FILE_SECONDS = 30 * 86_400;
/** What lies longer in the store is known to nobody: a Redis that was emptied has forgotten it. */
const FORGOTTEN_AFTER_MS = (MAX_FILE_SECONDS + 2 * 86_400) * 1000;
const SWEPT_AT_ONCE = 100;

const FILE_ID = /^file-[0-9a-f]{32}$/;
export const newFileId = (): string => `file-${randomBytes(16).toString('hex')}`;
/** The same however often it is made. */
export const fileIdOf = (maker: string, part: string): string =>
  `file-${createHash('sha256').update(`${maker} ${part}`).digest('hex').slice(0, 32)}`;

const script = (name: string): string => readScript(new URL(name, import.meta.url));

/** What is kept for a key: bytes of all its files, and how many it finds in its list. */
interface Kept {
  readonly bytes: number;
  readonly files: number;
}

interface Options {
  readonly redis: Redis;
  readonly store: AssetStore;
  readonly now: () => number;
}

export function createStoredFiles({ redis, store, now }: Options): StoredFiles {
  const put = defineScript(redis, 'gatewayPutFile', script('./put-file.lua'), z.number());
  const hold = defineScript(redis, 'gatewayHoldFile', script('./hold-file.lua'), z.number());
  const dropFile = defineScript(redis, 'gatewayDropFile', script('./drop-file.lua'), z.number());
  const keysOf = (id: string) => [fileKey(id), EXPIRIES];

  const drop = async (id: string, why: 'expired' | 'deleted' | 'done'): Promise<boolean> => {
    const isGone = (await dropFile(keysOf(id), PREFIX, id, now(), why)) === 1;
    // Should this not succeed, it goes with the files that nobody knows of any more.
    if (isGone) await store.delete(id);
    return isGone;
  };

  const find = async (id: string): Promise<StoredFile | undefined> => {
    if (!FILE_ID.test(id)) return undefined;
    const [text, deleted] = await redis.hmget(fileKey(id), 'record', 'deleted');
    if (!text || deleted) return undefined;
    const record = FileRecord.parse(JSON.parse(text));
    return record.expiresAtMs > now() ? record : undefined;
  };

  const keptBy = async (keyId: string): Promise<Kept> => {
    const [bytes, files] = await away(Promise.all([redis.get(bytesKey(keyId)), redis.zcard(listKey(keyId))]));
    return { bytes: Number(bytes ?? 0), files };
  };

  const sweepExpired = async (): Promise<number> => {
    let swept = 0;
    for (;;) {
      const due = await redis.zrange(EXPIRIES, '-inf', String(now()), 'BYSCORE', 'LIMIT', 0, SWEPT_AT_ONCE);
      for (const id of due) if (await drop(id, 'expired')) swept += 1;
      if (due.length < SWEPT_AT_ONCE) return swept;
    }
  };

  return {
    put: async ({ isListed, maxKeyBytes, ...file }, source) => {
      const { sizeBytes } = await store.put(file.id, source);
      const record: StoredFile = { ...file, sizeBytes };
      const { id, keyId, createdAtMs, expiresAtMs } = record;
      const text = JSON.stringify(record);
      const limits = maxKeyBytes === undefined ? [-1, -1] : [maxKeyBytes, MAX_FILES_PER_KEY];
      const args = [
        PREFIX,
        id,
        keyId,
        text,
        sizeBytes,
        createdAtMs,
        expiresAtMs,
        isListed ? 1 : 0,
        ...limits,
      ];
      if ((await away(put(keysOf(id), ...args))) === 1) return record;
      await store.delete(id);
      throw noRoom(await keptBy(keyId), maxKeyBytes ?? 0);
    },
    find: async (id, keyId) => {
      const found = await away(find(id));
      return found?.keyId === keyId ? found : undefined;
    },
    list: (keyId, { purpose, ...query }) =>
      away(
        pageOf(redis, listKey(keyId), query, async (id) => {
          const found = await find(id);
          return purpose === undefined || found?.purpose === purpose ? found : undefined;
        }),
      ),
    open: (id, range) => store.open(id, range),
    hold: async (id, untilMs) => (await away(hold(keysOf(id), id, untilMs))) === 1,
    remove: async (id) => void (await away(drop(id, 'deleted'))),
    discard: async (id) => void (await away(drop(id, 'done'))),
    ensureRoom: async (keyId, maxBytes) => {
      const kept = await keptBy(keyId);
      if (kept.bytes >= maxBytes || kept.files >= MAX_FILES_PER_KEY) throw noRoom(kept, maxBytes);
    },
    sweep: async () => (await sweepExpired()) + (await store.sweep(now() - FORGOTTEN_AFTER_MS)),
  };
}

const noRoom = ({ bytes, files }: Kept, maxBytes: number): GatewayError =>
  new GatewayError(
    'result_quota_exhausted',
    `Your ${files} files take ${bytes} bytes, and this key may keep ${maxBytes} bytes in ${MAX_FILES_PER_KEY} files. Delete some: GET /v1/files lists them.`,
  );
