import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { REPLACED } from '@gateway/redis/connection/redis-client';
import type { Redis } from 'ioredis';
import { createOperationBatch, type OperationBatch } from '../batch/operation-batch.ts';
import { type BrokenRecord, reportOnce } from '../broken-records.ts';
import { createLedger } from '../ledger/ledger.ts';
import { redisNames } from '../redis-names.ts';
import type { RefusalCounts } from '../usage/refusal-counts.ts';
import { createEpochWatch } from './epoch-watch.ts';
import { createMeter, type Meter, type MeterOptions } from './meter.ts';
import { createRecentSettlements } from './recent-settlements.ts';
import type { RefusedFor } from './refusal.ts';
import { openUsageSpool, SPOOL_FOLDER } from './usage-spool.ts';

interface OpenMeterOptions extends Pick<MeterOptions, 'onSettled' | 'report'> {
  readonly redis: Redis;
  /** Over the same connection. */
  readonly batch?: OperationBatch;
  readonly settings: {
    readonly GATEWAY_DATA_DIR: string;
    readonly GATEWAY_TIME_ZONE: string;
    readonly USAGE_RECORDS_DAYS: number;
  };
  readonly metrics: {
    refused(reason: RefusedFor): void;
    budgetNear(): void;
    brokenRecord(kind: BrokenRecord['kind']): void;
    usageRestored(count: number): void;
  };
  readonly refusals: Pick<RefusalCounts, 'add'>;
  readonly now: () => number;
}

/** A process's meter over its Redis connection and its data folder. */
export async function openMeter({
  redis,
  batch = createOperationBatch({ redis }),
  settings,
  metrics,
  refusals,
  now,
  report,
  onSettled,
}: OpenMeterOptions): Promise<Meter> {
  const { USAGE_RECORDS_DAYS: keepRecordsDays } = settings;
  const onBroken = reportOnce(({ kind, id }) => {
    report({ what: 'broken record', reason: `${kind} ${id}` });
    metrics.brokenRecord(kind);
  });
  const recent = createRecentSettlements(() => performance.now());
  const meter = createMeter({
    ledger: createLedger({
      redis,
      batch,
      now,
      keepRecordsDays,
      onBroken,
      onAbandoned: onSettled,
      onRecorded: (record) => {
        recent.add(record);
        watch.wake();
      },
    }),
    spool: await openUsageSpool(join(settings.GATEWAY_DATA_DIR, SPOOL_FOLDER), randomUUID(), now, onBroken),
    now,
    timeZone: settings.GATEWAY_TIME_ZONE,
    report,
    onRefused: (reason, { keyId, team, endpoint, model }) => {
      metrics.refused(reason);
      refusals.add({ keyId, team, endpoint, model });
    },
    onBudgetNear: () => metrics.budgetNear(),
    onSettled,
  });
  const restore = () => void meter.restore(recent.all()).then(metrics.usageRestored);
  redis.on(REPLACED, restore);
  const watch = createEpochWatch({ readEpoch: () => redis.get(redisNames.epoch), onEmptied: restore });
  return {
    ...meter,
    close: () => {
      watch.close();
      return meter.close();
    },
  };
}
