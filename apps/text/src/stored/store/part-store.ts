import { type StoreScripts, storeNames, unusedFiles } from '@gateway/conversations/store-scripts';
import type { Redis } from 'ioredis';
import type { ItemJson } from './item-json.ts';
import { newPartName, type PartFiles } from './part-files.ts';
import { unavailable } from './unavailable.ts';

/** What has been written for parts, by their digests. */
export type Uploads = Readonly<Record<string, { readonly name: string; readonly size: number }>>;

/** The files of large parts, and Redis' note of those that nothing refers to. */
export interface PartStore {
  /** Writes parts, each under a name of its own; what no record comes to refer to is swept. */
  upload(owner: string, parts: ReadonlyMap<string, Buffer>): Promise<Uploads>;
  remove(owner: string, names: readonly string[]): Promise<void>;
  /** @throws {GatewayError} `service_unavailable` */
  json(name: string): Promise<ItemJson>;
}

/** Within this time the record follows that refers to a file. */
const ANNOUNCED_MS = 3_600_000;

export function createPartStore(
  redis: Redis,
  files: PartFiles,
  { announce }: Pick<StoreScripts, 'announce'>,
): PartStore {
  return {
    upload: async (owner, parts) => {
      if (parts.size === 0) return {};
      const uploads = [...parts].map(([digest, bytes]) => ({ digest, name: newPartName(), bytes }));
      const names = uploads.map(({ name }) => name);
      await announce(storeNames(owner), owner, ANNOUNCED_MS, ...names);
      await inGroups(uploads, ({ name, bytes }) => files.put(name, bytes));
      return Object.fromEntries(
        uploads.map(({ digest, name, bytes }) => [digest, { name, size: bytes.length }] as const),
      );
    },
    remove: async (owner, names) => {
      if (names.length === 0) return;
      await inGroups(names, (name) => files.remove(name));
      await redis.zrem(unusedFiles(owner), ...names);
    },
    json: async (name) => {
      const bytes = await files.get(name).catch(unavailable);
      return bytes ?? unavailable(new Error(`the file ${name} of a conversation is gone`));
    },
  };
}

/** Files that one call opens at a time. */
const FILES_AT_ONCE = 32;

export async function inGroups<Value, Result>(
  values: readonly Value[],
  work: (value: Value) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let at = 0; at < values.length; at += FILES_AT_ONCE)
    results.push(...(await Promise.all(values.slice(at, at + FILES_AT_ONCE).map(work))));
  return results;
}
