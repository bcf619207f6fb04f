import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { createLedger } from '../ledger/ledger.ts';
import { createMeter, type Meter, type MeterOptions } from './meter.ts';
import { openUsageSpool } from './usage-spool.ts';

interface OpenMeterOptions extends Pick<MeterOptions, 'timeZone' | 'report'> {
  readonly redis: Redis;
  readonly dataDir: string;
  readonly keepRecordsDays: number;
  readonly keepSumsDays: number;
  readonly now: () => number;
}

/** Where what could not be settled waits, below the data folder. */
const SPOOL_FOLDER = 'usage-spool';

/** A process's meter over its Redis connection and its data folder. */
export async function openMeter(options: OpenMeterOptions): Promise<Meter> {
  const { redis, dataDir, now, keepRecordsDays, keepSumsDays, timeZone, report } = options;
  return createMeter({
    ledger: createLedger({ redis, now, keepRecordsDays, keepSumsDays }),
    spool: await openUsageSpool(join(dataDir, SPOOL_FOLDER), randomUUID(), now),
    timeZone,
    report,
  });
}
