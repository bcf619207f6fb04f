import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { ContentRecord } from '@gateway/contracts/content-log';
import { CONTENT_SPOOL, spoolFileOf, writeObject } from './content-spool.ts';
import type { ContentStores } from './content-store.ts';
import { createErasures } from './erasures.ts';

const decompressed = promisify(gunzip);

const LINE_END = '\n';
/** Objects are written at some 8 MB; one line more may be as long as the log takes. */
const MAX_OBJECT_BYTES = 256 * 1024 * 1024;

/** What of the content log is read, and deleted, by the object that a usage record names and the record's id. */
export interface ContentReader {
  /** Those of these records that are there, by their ids: others are not any more, or not yet. */
  find(object: string, ids: readonly string[]): Promise<ReadonlyMap<string, ContentRecord>>;
  /** Deletes the lines of these records, by their objects. Resolves to how many those were. */
  remove(ids: ReadonlyMap<string, readonly string[]>): Promise<number>;
  /** Deletes every line that is one person's or one key's, object by object, for as long as one call may take. */
  erase(whose: Whose, after: string | null): Promise<ErasedPart>;
}

/** Whose lines are meant: those of a key, or those that name an end user. */
export type Whose = { readonly keyId: string } | { readonly endUser: string };

export interface ErasedPart {
  readonly deleted: number;
  /** The last object that was looked at, for the call that goes on; null: there are no more. */
  readonly next: string | null;
}

/** After this time a call looks at no further object. */
const MAX_ERASING_MS = 10_000;

interface ReaderOptions {
  readonly openStores: () => Promise<ContentStores>;
  readonly dataDir: string;
  readonly now: () => number;
}

export function createContentReader({ openStores, dataDir, now }: ReaderOptions): ContentReader {
  const erasures = createErasures(openStores);
  const stored = async (object: string): Promise<Buffer | null> => {
    const asset = await (await openStores()).lines.open(object);
    return asset === undefined
      ? null
      : decompressed(await asset.bytes(), { maxOutputLength: MAX_OBJECT_BYTES });
  };
  /** In one process with the services, or on one disk with them, lines can be read before they are brought away. */
  const spooled = (object: string): Promise<Buffer | null> =>
    readFile(join(dataDir, CONTENT_SPOOL, spoolFileOf(object))).catch(() => null);

  /** Writes an object without what was erased, until it reads one in which nothing is. @returns how many lines were left out */
  const clean = async (object: string): Promise<number> => {
    const isErased = await erasures.read();
    const lines = (await stored(object))?.toString().split(LINE_END) ?? [];
    const rest = lines.filter((line) => !isErased(object, line));
    const count = lines.length - rest.length;
    if (count === 0) return 0;
    await writeObject((await openStores()).lines, object, rest.join(LINE_END));
    return count + (await clean(object));
  };

  return {
    find: async (object, ids) => {
      const lines = (await stored(object)) ?? (await spooled(object));
      if (lines === null) return new Map();
      const isErased = await erasures.read();
      return new Map(
        ids.flatMap((id) => {
          const line = lineOf(lines, id)?.toString();
          return line !== undefined && !isErased(object, line)
            ? [[id, ContentRecord.parse(JSON.parse(line))] as const]
            : [];
        }),
      );
    },
    remove: async (ids) => {
      await erasures.note({ ids: Object.fromEntries(ids) });
      let deleted = 0;
      for (const object of ids.keys()) deleted += await clean(object);
      return deleted;
    },
    erase: async (whose, after) => {
      await erasures.note({ ...whose, untilMs: now() });
      const names: string[] = [];
      for await (const { id } of (await openStores()).lines.list())
        if (after === null || id > after) names.push(id);
      const endsAt = performance.now() + MAX_ERASING_MS;
      let deleted = 0;
      for (const name of names.toSorted()) {
        deleted += await clean(name);
        if (performance.now() > endsAt && name !== names.at(-1)) return { deleted, next: name };
      }
      return { deleted, next: null };
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
