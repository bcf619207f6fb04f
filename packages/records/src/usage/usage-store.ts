import type { UsageRecord } from '@gateway/contracts/usage/usage-record';
import { type ReportBroken, readStored } from '@gateway/metering/broken-records';
import {
  type EntryId,
  entryIdText,
  isAfter,
  type OutboxStream,
  outboxStreams,
  parseRecord,
  placeOf,
} from '@gateway/metering/usage/outbox';
import { isWantedRequest, type RequestFilter } from '@gateway/metering/usage/request-filter';
import { addEntries, brokenEntry, readTails } from '@gateway/metering/usage/unrecorded-usage';
import {
  createUsageRows,
  isOfRecords,
  type UsageQuery,
  type UsageRow,
} from '@gateway/metering/usage/usage-rows';
import type { Redis } from 'ioredis';
import { awaitDatabase } from '../database/await-database.ts';
import type { Database, Queries } from '../database/database.ts';
import { readCursors, type StreamCursors } from '../recorder/stream-cursors.ts';
import { readRecordSums } from './read-record-sums.ts';
import { findRecords, pageOfRecords, recordsAfter } from './read-records.ts';
import { readSums } from './read-sums.ts';
import type { PlacedRecord } from './record-rows.ts';
import { idsOfWanted, neededGroups } from './usage-groups.ts';

export interface NewestQuery extends RequestFilter {
  /** Of the requests' ends. */
  readonly fromMs: number;
  /** Exclusive. */
  readonly toMs: number;
  /** `next` of the page before. */
  readonly after: string | undefined;
  readonly limit: number;
}

export interface RecordPage {
  readonly records: readonly UsageRecord[];
  readonly next: string | null;
}

/**
 * Usage as it is at this moment: the database has what has been recorded, and the streams of Redis the rest, some seconds of it.
 *
 * All throw a `GatewayError` while the database is away, and what Redis throws.
 */
export interface UsageStore {
  /** Sums by group. */
  sums(query: UsageQuery): Promise<readonly UsageRow[]>;
  /** A page of the records in a time, those that ended last first. */
  newest(query: NewestQuery): Promise<RecordPage>;
  /** The record with this id, its own or its request's; of several the first or the last that ended. */
  find(
    id: string,
    which: { readonly of: 'first' | 'last'; readonly isSeen: (record: UsageRecord) => boolean },
  ): Promise<UsageRecord | null>;
  /** Every record of a time, in the order of their ends; a page in memory at a time. */
  all(range: { readonly fromMs: number; readonly toMs: number }): AsyncGenerator<UsageRecord>;
}

/** A record's position: the day on which it ended, and its entry's id. */
export const RECORD_CURSOR = /^(\d{4}-\d{2}-\d{2})_(\d{1,15})-(\d{1,15})$/;

const DAY_MS = 86_400_000;
/** Entries of a stream that are read for an answer: the recorder is rarely so far behind. */
const MAX_TAIL = 20_000;
const PAGE = 1000;
const MEANWHILE = 'Usage is recorded later and nothing is lost.';

export function createUsageStore({
  database,
  redis,
  now,
  onBroken,
}: {
  readonly database: Database;
  readonly redis: Redis;
  readonly now: () => number;
  readonly onBroken: ReportBroken;
}): UsageStore {
  /** What the database says, and what the streams hold beside it: both as of one moment. */
  const read = async <T>(work: (queries: Queries) => Promise<T>) => {
    const streams = outboxStreams(now() - DAY_MS, now() + DAY_MS);
    const { found, cursors } = await awaitDatabase(
      database.read(async (queries) => ({
        cursors: await readCursors(queries, streams),
        found: await work(queries),
      })),
      MEANWHILE,
    );
    return { found, tails: await tailsAfter(streams, cursors) };
  };
  const tailsAfter = (streams: readonly OutboxStream[], after: StreamCursors) =>
    readTails(redis, { streams, after, maxEntries: MAX_TAIL });
  type Tails = Awaited<ReturnType<typeof tailsAfter>>;

  const recordsOf = (tails: Tails): PlacedRecord[] =>
    tails
      .filter(({ stream }) => stream.kind === 'records')
      .flatMap(({ stream, entries }) =>
        entries.flatMap((entry) => {
          const record = readStored(entry.text, parseRecord, brokenEntry(stream, entry), onBroken);
          return record === undefined ? [] : [{ id: placeOf(entry, record), record }];
        }),
      );

  return {
    sums: async (query) => {
      const rows = createUsageRows(query);
      const readRows = isOfRecords(query) ? readRecordSums : readSums;
      const { tails } = await read((queries) => readRows(queries, query, rows));
      for (const tail of tails) addEntries(rows, tail, onBroken);
      return rows.rows();
    },

    newest: async ({ fromMs, toMs, after, limit, ...wanted }) => {
      const before = positionOf(after);
      const { found, tails } = await read(async (queries) => {
        const groups = { ids: await idsOfWanted(queries, wanted), needed: neededGroups(wanted) };
        return pageOfRecords(queries, { fromMs, toMs, before, limit, wanted, groups });
      });
      const isInPage = ({ id, record }: PlacedRecord): boolean =>
        id.ms >= fromMs &&
        id.ms < toMs &&
        (before === null || isAfter(before, id)) &&
        isWantedRequest(record, wanted);
      const newest = [...recordsOf(tails).filter(isInPage), ...found.records]
        .toSorted((a, b) => (isAfter(a.id, b.id) ? -1 : 1))
        .slice(0, limit);
      const last = newest.at(-1);
      const next = newest.length === limit && last !== undefined ? last.id : found.next;
      return {
        // SQL finds lists of attempts by their words alone.
        records: newest.map(({ record }) => record).filter((record) => isWantedRequest(record, wanted)),
        next: next === null ? null : cursorOf(next),
      };
    },

    find: async (id, { of, isSeen }) => {
      const { found, tails } = await read((queries) => findRecords(queries, id));
      const unrecorded = recordsOf(tails).filter(({ record }) => record.id === id || record.requestId === id);
      const all = [...found.toReversed(), ...unrecorded].map(({ record }) => record).filter(isSeen);
      return (of === 'first' ? all.at(0) : all.at(-1)) ?? null;
    },

    all: async function* ({ fromMs, toMs }) {
      let after: EntryId = { ms: fromMs, seq: -1 };
      for (;;) {
        const from = after;
        const { found, tails } = await read((queries) =>
          recordsAfter(queries, { after: from, toMs, limit: PAGE }),
        );
        for (const { record } of found) yield record;
        const last = found.at(-1);
        if (last !== undefined) after = last.id;
        if (found.length === PAGE) continue;
        // The end of what is recorded: the rest is in the streams.
        for (const { id, record } of recordsOf(tails))
          if (id.ms < toMs && isAfter(id, { ms: fromMs, seq: -1 })) yield record;
        return;
      }
    },
  };
}

function positionOf(cursor: string | undefined): EntryId | null {
  const [, , ms, seq] = RECORD_CURSOR.exec(cursor ?? '') ?? [];
  return ms === undefined ? null : { ms: Number(ms), seq: Number(seq) };
}

const cursorOf = (id: EntryId): string => `${new Date(id.ms).toISOString().slice(0, 10)}_${entryIdText(id)}`;
