import { GatewayError } from '@gateway/contracts/gateway-error';
import type { UsageStore } from '@gateway/records/usage/usage-store';
import { createTaskThread } from '@gateway/service-kit/threads/task-thread';
import { z } from 'zod';
import { instant } from '../../api/schemas/page.ts';
import { type BaseText, type DraftRequest, EMPTY_CONFIGURATION } from '../draft.ts';
import { createCostSums } from './cost-sums.ts';
import type { BothSheets, PriceSheetTask } from './price-sheet-thread.ts';
import { pricedRecord } from './priced-record.ts';

const count = z.int().min(0);
const row = {
  /** Requests; of a route in the draft as many as it would have got. */
  requests: z.number().min(0),
  beforeMicroUsd: count,
  afterMicroUsd: count,
};

/** What the requests of a week would have cost under a draft. */
export const DraftCosts = z.strictObject({
  from: instant,
  to: instant,
  /** Requests of the models whose prices or routes differ. */
  requests: count,
  /** Those of them that are in the figures. */
  compared: count,
  /** There were more requests than are read at once: the newest of each model were. */
  isCut: z.boolean(),
  beforeMicroUsd: count,
  afterMicroUsd: count,
  /** The largest differences, then what is not in the figures and why. */
  sentences: z.array(z.string()),
  notes: z.array(z.string()),
  /** The largest differences first. */
  byModel: z.array(z.strictObject({ model: z.string(), ...row })),
  /** A team of null: requests of keys without one. */
  byTeam: z.array(z.strictObject({ team: z.string().nullable(), ...row })),
  byRoute: z.array(z.strictObject({ model: z.string(), channel: z.string(), ...row })),
});
export type DraftCosts = z.infer<typeof DraftCosts>;

/**
 * Compares what the requests of the last week cost with what the draft would have charged for the same consumption. Applies nothing.
 *
 * @throws {GatewayError} `invalid_value` for a draft with mistakes, or one that takes too long to read
 */
export type CompareCosts = (request: Pick<DraftRequest, 'text' | 'edits'>) => Promise<DraftCosts>;

const WEEK_MS = 7 * 86_400_000;
/** What is read for an answer, in records and in time. */
const BOUNDS = { maxRecords: 100_000, maxMs: 10_000 } as const;
const PAGE = 2000;

interface CompareCostsOptions {
  /** The file that mistakes name. */
  readonly path: string;
  readonly readBase: () => Promise<BaseText>;
  readonly usage: Pick<UsageStore, 'sums' | 'newest'>;
  readonly now: () => number;
  readonly uptime: () => number;
  readonly bounds?: { readonly maxRecords: number; readonly maxMs: number };
}

export function createCompareCosts(options: CompareCostsOptions): CompareCosts {
  const { path, readBase, usage, now, uptime, bounds = BOUNDS } = options;
  const thread = createTaskThread<PriceSheetTask, BothSheets | null>({
    module: new URL('./price-sheet-thread.ts', import.meta.url),
    timeLimitMs: 20_000,
    maxHeapMb: 512,
    idleMs: 60_000,
    onTooMuch: () =>
      new GatewayError('invalid_value', {
        path: ['text'],
        message: "Invalid value for 'text': it takes too long to be read. Make fewer changes at a time.",
      }),
  });

  return async ({ text, edits = [] }) => {
    const toMs = now();
    const fromMs = toMs - WEEK_MS;
    const rows = await usage.sums({ fromMs, toMs, groupBy: ['model', 'endpoint'], only: {} });
    const found = rows.map(({ group, sums }) => ({
      model: group.model ?? '',
      endpoint: group.endpoint ?? '',
      requests: sums.requests,
    }));
    const base = (await readBase()).text ?? EMPTY_CONFIGURATION;
    const sheets = await thread.run({ base, text, edits, path, requested: found });
    if (sheets === null)
      throw new GatewayError('invalid_value', {
        path: ['text'],
        message: 'The draft has mistakes, so that nothing can be compared. Correct them first.',
      });
    const differing = found.flatMap((one, at) => {
      const [before, after] = [sheets.before[at] ?? null, sheets.after[at] ?? null];
      return one.requests === 0 || JSON.stringify(before) === JSON.stringify(after)
        ? []
        : [{ ...one, before, after }];
    });
    const sums = createCostSums();
    const untilMs = uptime() + bounds.maxMs;
    let left = bounds.maxRecords;
    for (const { model, endpoint, before, after } of differing.toSorted((a, b) => a.requests - b.requests)) {
      let cursor: string | undefined;
      do {
        if (left <= 0 || uptime() > untilMs) {
          sums.cut();
          break;
        }
        const only = { model, endpoint };
        const page = await usage.newest({ fromMs, toMs, after: cursor, limit: Math.min(PAGE, left), only });
        left -= page.records.length;
        for (const record of page.records) sums.add(record, pricedRecord(record, before, after));
        cursor = page.next ?? undefined;
      } while (cursor !== undefined);
    }
    const requests = differing.reduce((sum, one) => sum + one.requests, 0);
    return {
      from: new Date(fromMs).toISOString(),
      to: new Date(toMs).toISOString(),
      ...sums.result(requests),
    };
  };
}
