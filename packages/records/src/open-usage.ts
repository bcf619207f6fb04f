import type { BrokenRecord } from '@gateway/metering/broken-records';
import type { Redis } from 'ioredis';
import { type DatabaseSettings, openDatabase } from './database/open-database.ts';
import { createRecorder, type Recorder, type RecorderEvent } from './recorder/recorder.ts';
import { createUsageStore, type UsageStore } from './usage/usage-store.ts';

interface OpenUsageOptions {
  readonly redis: Redis;
  readonly settings: DatabaseSettings & {
    readonly USAGE_RECORDS_DAYS: number;
    readonly USAGE_SUMS_DAYS: number;
  };
  readonly now: () => number;
  readonly onBroken: (broken: BrokenRecord) => void;
  readonly report: (event: RecorderEvent) => void;
}

/** Usage in the database, and the recorder that brings it there. */
export type Usage = UsageStore & Pick<Recorder, 'trouble'>;

/**
 * Opens the database and begins to record.
 *
 * @throws {ConfigError} where the database cannot be used
 */
export async function openUsage({
  redis,
  settings,
  now,
  onBroken,
  report,
}: OpenUsageOptions): Promise<Usage & AsyncDisposable> {
  const opened = await openDatabase(settings);
  const { USAGE_RECORDS_DAYS: keepRecordsDays, USAGE_SUMS_DAYS: keepSumsDays } = settings;
  const recorder = createRecorder({ redis, opened, now, keepRecordsDays, keepSumsDays, onBroken, report });
  return {
    ...createUsageStore({ database: opened.database, redis, now, onBroken }),
    trouble: recorder.trouble,
    [Symbol.asyncDispose]: async () => {
      await recorder[Symbol.asyncDispose]();
      await opened.database[Symbol.asyncDispose]();
    },
  };
}
