import { appendFile, mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { UsageRecord } from '@gateway/contracts/usage/usage-record';
import { z } from 'zod';
import { type ReportBroken, readStored } from '../broken-records.ts';

/** One line of the spool. */
const SpooledUsage = z.object({ record: UsageRecord });
export type SpooledUsage = z.infer<typeof SpooledUsage>;

const parseLine = (line: string): SpooledUsage => SpooledUsage.parse(JSON.parse(line));

/** Usage that could not be settled because Redis was away, kept on disk until it can. */
export interface UsageSpool {
  /** @throws where the disk takes nothing; the usage is then held in memory, bounded, for as long as the process runs */
  add(usage: SpooledUsage): Promise<void>;
  /**
   * Passes everything kept to `settle`; an error of it ends the replay and everything stays kept. Settling is idempotent
   * by id, so a file may be replayed twice. A line that cannot be read is reported and put aside, so that it blocks no
   * other.
   */
  replay(settle: (usage: SpooledUsage) => Promise<void>): Promise<void>;
}

/** The spool's folder in the data folder, for usage that could not be settled. */
export const SPOOL_FOLDER = 'usage-spool';
/** The files in it that are to be replayed. */
export const SPOOLED = /\.(?:open|full)\.ndjson$/;
const OPEN = '.open.ndjson';
const FULL = '.full.ndjson';
/** Lines that cannot be read, for a person to inspect. */
const BROKEN = 'broken.txt';
/** An open file without a write for this long belongs to a process that has ended or does not need it now. */
const LEFT_ALONE_MS = 60_000;
/** The most records that are held in memory while the disk takes none: some ten megabytes. */
const MAX_HELD = 20_000;

/** `name` is this process's own among those that share the folder. */
export async function openUsageSpool(
  folder: string,
  name: string,
  now: () => number,
  onBroken: ReportBroken = () => undefined,
): Promise<UsageSpool> {
  await mkdir(folder, { recursive: true });
  const own = `${name}${OPEN}`;
  let lastClosed = 0;
  const held: SpooledUsage[] = [];
  /** A full disk may have taken the beginning of a line. */
  let isTorn = false;
  /** Appending and closing take turns, so that no line falls between two files. */
  let turn: Promise<unknown> = Promise.resolve();
  const inTurn = <Outcome>(action: () => Promise<Outcome>): Promise<Outcome> => {
    const result = turn.then(action);
    turn = result.catch(() => undefined);
    return result;
  };

  const isClosable = async (file: string): Promise<boolean> => {
    if (file === own) return true;
    const { mtimeMs } = await stat(join(folder, file)).catch(() => ({ mtimeMs: now() }));
    return file.endsWith(OPEN) && now() - mtimeMs > LEFT_ALONE_MS;
  };

  const close = async (file: string): Promise<void> => {
    lastClosed += 1;
    const full = `${file.slice(0, -OPEN.length)}-${now()}-${lastClosed}${FULL}`;
    // Another process may have closed the same abandoned file first.
    await rename(join(folder, file), join(folder, full)).catch(() => undefined);
  };

  const append = async (usage: SpooledUsage): Promise<void> => {
    try {
      await appendFile(join(folder, own), `${isTorn ? '\n' : ''}${JSON.stringify(usage)}\n`);
      isTorn = false;
    } catch (cause) {
      isTorn = true;
      if (held.length < MAX_HELD) held.push(usage);
      throw cause;
    }
  };

  return {
    add: (usage) => inTurn(() => append(usage)),
    replay: async (settle) => {
      for (let usage = held[0]; usage !== undefined; usage = held[0]) {
        await settle(usage);
        // Another replay may have been faster.
        if (held[0] === usage) held.shift();
      }
      await inTurn(async () => {
        for (const file of await readdir(folder)) if (await isClosable(file)) await close(file);
      });
      for (const file of await readdir(folder)) {
        if (!file.endsWith(FULL)) continue;
        const text = await readFile(join(folder, file), 'utf8').catch(() => '');
        // Text after the last line end was being written when its process died: it was never kept.
        const lines = text.split('\n').slice(0, -1);
        const broken: string[] = [];
        for (const [at, line] of lines.entries()) {
          const usage = readStored(
            line,
            parseLine,
            { kind: 'spooled_usage', id: `${file} ${at + 1}` },
            onBroken,
          );
          if (usage === undefined) broken.push(line);
          else await settle(usage);
        }
        if (broken.length > 0) await appendFile(join(folder, BROKEN), `${broken.join('\n')}\n`);
        await rm(join(folder, file), { force: true });
      }
    },
  };
}
