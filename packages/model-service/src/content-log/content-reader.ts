import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { AssetStore } from '@gateway/assets/asset-store';
import { ContentRecord } from '@gateway/contracts/content-log';
import { CONTENT_SPOOL, spoolFileOf } from './content-spool.ts';

const decompressed = promisify(gunzip);
const compressed = promisify(gzip);

/** Objects are written at some 8 MB; one line more may be as long as the log takes. */
const MAX_OBJECT_BYTES = 256 * 1024 * 1024;

/** What of the content log is read, and deleted, by the object that a usage record names and the record's id. */
export interface ContentReader {
  /** Those of these records that are there, by their ids: others are not any more, or not yet. */
  find(object: string, ids: readonly string[]): Promise<ReadonlyMap<string, ContentRecord>>;
  /** Deletes the lines of these records. Resolves to how many those were. */
  remove(object: string, ids: readonly string[]): Promise<number>;
}

interface ReaderOptions {
  readonly openStore: () => Promise<Pick<AssetStore, 'open' | 'put' | 'delete'>>;
  readonly dataDir: string;
}

export function createContentReader({ openStore, dataDir }: ReaderOptions): ContentReader {
  const stored = async (object: string): Promise<Buffer | null> => {
    const asset = await (await openStore()).open(object);
    return asset === undefined
      ? null
      : decompressed(await asset.bytes(), { maxOutputLength: MAX_OBJECT_BYTES });
  };
  /** In one process with the services, or on one disk with them, lines can be read before they are brought away. */
  const spooled = (object: string): Promise<Buffer | null> =>
    readFile(join(dataDir, CONTENT_SPOOL, spoolFileOf(object))).catch(() => null);

  return {
    find: async (object, ids) => {
      const lines = (await stored(object)) ?? (await spooled(object));
      return new Map(
        ids.flatMap((id) => {
          const line = lines && lineOf(lines, id);
          return line ? [[id, ContentRecord.parse(JSON.parse(line.toString()))] as const] : [];
        }),
      );
    },
    remove: async (object, ids) => {
      const lines = await stored(object);
      if (lines === null) return 0;
      let rest = lines;
      let count = 0;
      for (const id of ids) {
        const found = spanOf(rest, id);
        if (found === null) continue;
        rest = Buffer.concat([rest.subarray(0, found.start), rest.subarray(found.end)]);
        count += 1;
      }
      const store = await openStore();
      if (rest.length === 0) await store.delete(object);
      else if (count > 0) await store.put(object, await compressed(rest));
      return count;
    },
  };
}

/** How a line begins; a text within one has its quotes escaped. */
const openingOf = (id: string): string => `{"version":1,"id":${JSON.stringify(id)},`;

/** A record's line with its end. */
function spanOf(lines: Buffer, id: string): { start: number; end: number } | null {
  const start = lines.indexOf(openingOf(id));
  if (start < 0) return null;
  const end = lines.indexOf('\n', start);
  return { start, end: end < 0 ? lines.length : end + 1 };
}

function lineOf(lines: Buffer, id: string): Buffer | null {
  const found = spanOf(lines, id);
  return found && lines.subarray(found.start, found.end);
}
