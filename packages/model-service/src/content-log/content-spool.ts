import { randomBytes } from 'node:crypto';
import { appendFile, mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { AssetStore } from '@gateway/assets/asset-store';
import type { ContentStores } from './content-store.ts';
import { createErasures } from './erasures.ts';

const compressed = promisify(gzip);

/** The spool's folder in the data folder. */
export const CONTENT_SPOOL = 'content-spool';
const ENDING = '.jsonl';
/** A file without a write for this long belongs to a process that has ended, or could not bring it away. */
const LEFT_ALONE_MS = 5 * 60_000;
const NAME_BYTES = 4;

const OBJECT_ENDING = '.gz';

/** The object that a file of the spool becomes. */
const objectOf = (file: string): string => `${file.slice(0, -ENDING.length)}${OBJECT_ENDING}`;

/** The file of the spool that becomes an object. */
export const spoolFileOf = (object: string): string => `${object.slice(0, -OBJECT_ENDING.length)}${ENDING}`;

/** Whole or not at all; one without lines is deleted. */
export async function writeObject(
  store: Pick<AssetStore, 'put' | 'delete'>,
  object: string,
  lines: string,
): Promise<void> {
  if (lines.trim() === '') await store.delete(object);
  else await store.put(object, await compressed(lines));
}

export interface ContentSpoolOptions {
  readonly folder: string;
  readonly openStores: () => Promise<ContentStores>;
  readonly now: () => number;
  /** What all files together may hold. */
  readonly maxBytes: number;
  /** When a file is brought away: at this size, or this long after its first line. */
  readonly fileBytes: number;
  readonly fileMs: number;
  /** Gets lines that are lost. */
  readonly onLost: (reason: 'spool_full' | 'disk', cause?: unknown) => void;
  readonly onProblem: (cause: unknown) => void;
}

/** A line that will be written, and the object in which it will be found. */
export interface PendingLine {
  readonly object: string;
  /** Call one of them, once. Resolves to whether the line is on disk; it is lost where it is not. */
  write(line: string): Promise<boolean>;
  cancel(): void;
}

/**
 * Lines on their way to the store: appended to files on disk as they come, so that a process that is killed loses none that
 * it has written. A file becomes one object when it is large or old enough; while the store is away, files wait.
 */
export interface ContentSpool {
  begin(): PendingLine;
  /** Brings away what can be brought away. Never rejects. */
  bring(isLast?: boolean): Promise<void>;
  /** Bytes that wait on disk. */
  readonly sizeBytes: number;
}

interface OpenFile {
  readonly name: string;
  readonly openedAtMs: number;
  sizeBytes: number;
  /** Lines that were begun and have yet to come. */
  pending: number;
  isFull: boolean;
}

export function createContentSpool(options: ContentSpoolOptions): ContentSpool {
  const { folder, openStores, now, maxBytes, fileBytes, fileMs, onLost, onProblem } = options;
  const processName = randomBytes(NAME_BYTES).toString('hex');
  let count = 0;
  let sizeBytes = 0;
  /** This process's own; the last one takes new lines. */
  const own = new Map<string, OpenFile>();
  let current: OpenFile | null = null;
  const opened = mkdir(folder, { recursive: true })
    .then(() => sizeOf(folder))
    .then((left) => {
      sizeBytes += left;
    })
    .catch(onProblem);
  /** Lines are appended one after the other. */
  let turn: Promise<unknown> = opened;

  const isDue = (file: OpenFile) => file.sizeBytes >= fileBytes || now() - file.openedAtMs >= fileMs;
  const fileNow = (): OpenFile => {
    if (current !== null && !isDue(current)) return current;
    if (current !== null) current.isFull = true;
    count += 1;
    // The hour first: a person finds a time by the names, and a listing is in its order.
    const hour = new Date(now()).toISOString().slice(0, 13).replace('T', '_');
    current = {
      name: `${hour}_${processName}_${count}${ENDING}`,
      openedAtMs: now(),
      sizeBytes: 0,
      pending: 0,
      isFull: false,
    };
    own.set(current.name, current);
    return current;
  };

  const append = async (file: OpenFile, line: string): Promise<boolean> => {
    const bytes = Buffer.from(`${line}\n`);
    if (sizeBytes + bytes.length > maxBytes) {
      onLost('spool_full');
      return false;
    }
    try {
      await appendFile(join(folder, file.name), bytes);
      file.sizeBytes += bytes.length;
      sizeBytes += bytes.length;
      return true;
    } catch (cause) {
      onLost('disk', cause);
      return false;
    }
  };

  const erasures = createErasures(openStores);
  /** What is erased while it is written is written again without that. */
  const writeUnerased = async (object: string, lines: readonly string[]): Promise<void> => {
    const isErased = await erasures.read();
    const rest = lines.filter((line) => !isErased(object, line));
    await writeObject((await openStores()).lines, object, rest.join('\n'));
    const isErasedNow = await erasures.read();
    if (rest.some((line) => isErasedNow(object, line))) await writeUnerased(object, lines);
  };

  const bringFile = async (name: string): Promise<void> => {
    const path = join(folder, name);
    const text = await readFile(path);
    // What follows the last line end was being written when its process died.
    const whole = text.subarray(0, text.lastIndexOf('\n') + 1);
    if (whole.length > 0) await writeUnerased(objectOf(name), whole.toString().split('\n'));
    await rm(path, { force: true });
    sizeBytes = Math.max(0, sizeBytes - text.length);
  };

  const bringAll = async (isLast: boolean): Promise<void> => {
    if (current !== null && (isLast || isDue(current))) {
      current.isFull = true;
      current = null;
    }
    for (const name of (await readdir(folder)).toSorted()) {
      if (!name.endsWith(ENDING)) continue;
      const file = own.get(name);
      if (file === undefined ? await isLeft(join(folder, name), now()) : file.isFull && file.pending === 0) {
        await bringFile(name);
        own.delete(name);
      }
    }
    for (const [name, file] of own)
      if (file.isFull && file.pending === 0 && file.sizeBytes === 0) own.delete(name);
  };

  let bringing: Promise<void> = opened;
  return {
    begin: () => {
      const file = fileNow();
      file.pending += 1;
      return {
        object: objectOf(file.name),
        write: (line) => {
          const written = turn.then(() => append(file, line));
          turn = written;
          return written.finally(() => {
            file.pending -= 1;
          });
        },
        cancel: () => {
          file.pending -= 1;
        },
      };
    },
    bring: (isLast = false) => {
      bringing = bringing.then(() => bringAll(isLast)).catch(onProblem);
      return bringing;
    },
    get sizeBytes() {
      return sizeBytes;
    },
  };
}

async function isLeft(path: string, nowMs: number): Promise<boolean> {
  const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: nowMs }));
  return nowMs - mtimeMs > LEFT_ALONE_MS;
}

async function sizeOf(folder: string): Promise<number> {
  let sum = 0;
  for (const name of await readdir(folder)) {
    const { size } = await stat(join(folder, name)).catch(() => ({ size: 0 }));
    sum += size;
  }
  return sum;
}
