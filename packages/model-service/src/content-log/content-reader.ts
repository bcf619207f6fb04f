import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { AssetStore } from '@gateway/assets/asset-store';
import { ContentRecord } from '@gateway/contracts/content-log';
import { CONTENT_SPOOL, spoolFileOf } from './content-spool.ts';

const decompressed = promisify(gunzip);
const compressed = promisify(gzip);

const LINE_END = '\n';
/** Objects are written at some 8 MB; one line more may be as long as the log takes. */
const MAX_OBJECT_BYTES = 256 * 1024 * 1024;

/** What of the content log is read, and deleted, by the object that a usage record names and the record's id. */
export interface ContentReader {
  /** Those of these records that are there, by their ids: others are not any more, or not yet. */
  find(object: string, ids: readonly string[]): Promise<ReadonlyMap<string, ContentRecord>>;
  /** Deletes the lines of these records. Resolves to how many those were. */
  remove(object: string, ids: readonly string[]): Promise<number>;
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
  readonly openStore: () => Promise<Pick<AssetStore, 'open' | 'put' | 'delete' | 'list'>>;
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

  /** An object is written whole or not at all. @returns how many of its lines were left out */
  const without = async (object: string, isMeant: (line: string) => boolean): Promise<number> => {
    const lines = (await stored(object))?.toString().split(LINE_END) ?? [];
    const rest = lines.filter((line) => !isMeant(line));
    const count = lines.length - rest.length;
    if (count === 0) return 0;
    const store = await openStore();
    if (rest.every((line) => line === '')) await store.delete(object);
    else await store.put(object, await compressed(rest.join(LINE_END)));
    return count;
  };
  let turn: Promise<unknown> = Promise.resolve();
  /** Who writes an object anew has read what others have left of it. */
  const inTurn = <Result>(write: () => Promise<Result>): Promise<Result> => {
    const written = turn.then(write);
    turn = written.catch(() => undefined);
    return written;
  };

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
    remove: (object, ids) => {
      const openings = ids.map(openingOf);
      return inTurn(() => without(object, (line) => openings.some((opening) => line.startsWith(opening))));
    },
    erase: async (whose, after) => {
      const store = await openStore();
      const names: string[] = [];
      for await (const { id } of store.list()) if (after === null || id > after) names.push(id);
      const endsAt = performance.now() + MAX_ERASING_MS;
      let deleted = 0;
      for (const name of names.toSorted()) {
        deleted += await inTurn(() => without(name, isOf(whose)));
        if (performance.now() > endsAt && name !== names.at(-1)) return { deleted, next: name };
      }
      return { deleted, next: null };
    },
  };
}

/** How a line begins; a text within one has its quotes escaped. */
const openingOf = (id: string): string => `{"version":1,"id":${JSON.stringify(id)},`;

/** Few lines have to be parsed: a text within one has its quotes escaped. */
function isOf(whose: Whose): (line: string) => boolean {
  const [[name, value] = []] = Object.entries(whose);
  const member = `"${name}":${JSON.stringify(value)}`;
  return (line) => {
    if (!line.includes(member)) return false;
    const read = Facts.safeParse(JSON.parse(line));
    return read.success && Reflect.get(read.data, String(name)) === value;
  };
}

const Facts = ContentRecord.pick({ keyId: true, endUser: true });

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
