import { UsageRecord } from '@gateway/contracts/usage/usage-record';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { dayOf, redisNames } from '../redis-names.ts';

// Usage on its way into the database: what settled requests append to a stream of Redis, and what is counted of refused ones.

/** The streams of one day (UTC) each. */
export const OUTBOX = ['records', 'refusals'] as const;
export type OutboxKind = (typeof OUTBOX)[number];

export interface OutboxStream {
  readonly kind: OutboxKind;
  readonly day: string;
  readonly name: string;
}

/** The id of an entry: Redis' clock in milliseconds, and a number among those of the same millisecond. */
export interface EntryId {
  readonly ms: number;
  readonly seq: number;
}

export interface OutboxEntry {
  readonly id: EntryId;
  readonly text: string;
  /** Of a record: what it was charged to. */
  readonly charged: Charged;
}

/** The accounts of budgets that a request counted on, by their names; `lost`: its reservation was, which knew them. */
export type Charged = readonly string[] | 'lost';

export const FIRST_ID: EntryId = { ms: 0, seq: 0 };
const DAY_MS = 86_400_000;
/** Clocks differ, and settling takes a moment: an entry that is not later than its request's end by more stands where it is. */
const PROMPT_MS = 60_000;
/** An end that is longer ago comes from a clock that was wrong. */
const MAX_LATE_MS = 90 * DAY_MS;
const MAX_SEQ = 999;
const ID = /^(\d{1,15})-(\d{1,15})$/;

export const entryIdText = ({ ms, seq }: EntryId): string => `${ms}-${seq}`;

export function parseEntryId(text: string): EntryId {
  const [, ms = '0', seq = '0'] = ID.exec(text) ?? [];
  return { ms: Number(ms), seq: Number(seq) };
}

export const isAfter = (one: EntryId, other: EntryId): boolean =>
  one.ms > other.ms || (one.ms === other.ms && one.seq > other.seq);

/** The streams of the days from one moment to another, both included, the earlier days first. */
export function outboxStreams(fromMs: number, toMs: number): OutboxStream[] {
  const streams: OutboxStream[] = [];
  for (let day = dayOf(fromMs); day <= dayOf(toMs); day = dayOf(Date.parse(day) + DAY_MS))
    streams.push(...OUTBOX.map((kind) => ({ kind, day, name: redisNames[kind](day) })));
  return streams;
}

interface Section {
  /** Entries after this one. */
  readonly after: EntryId;
  readonly count: number;
}

/** The next entries of a stream, as they were appended. */
export async function readOutbox(
  redis: Redis,
  { name }: Pick<OutboxStream, 'name'>,
  { after, count }: Section,
): Promise<OutboxEntry[]> {
  const entries = await redis.xrange(name, `(${entryIdText(after)}`, '+', 'COUNT', count);
  return entries.map(([id, [, text = '', more, value = '[]']]) => ({
    id: parseEntryId(id),
    text,
    charged: more === 'lost' ? 'lost' : more === 'accounts' ? accountsIn(value) : NOTHING,
  }));
}

const NOTHING: readonly string[] = [];
const Names = z.array(z.string());
/** The script that writes them is our own. */
const accountsIn = (text: string): readonly string[] => Names.parse(JSON.parse(text));

/**
 * The place of a record among all: when its request ended. One that was appended late, such as after an outage of Redis, has a
 * place of its own among those of that time.
 */
export function placeOf(
  { id }: Pick<OutboxEntry, 'id'>,
  { startedAtMs, durationMs }: Pick<UsageRecord, 'startedAtMs' | 'durationMs'>,
): EntryId {
  const endedAtMs = Math.round(startedAtMs + durationMs);
  const lateMs = id.ms - endedAtMs;
  if (!(lateMs > PROMPT_MS && lateMs < MAX_LATE_MS)) return id;
  return { ms: endedAtMs, seq: lateMs * (MAX_SEQ + 1) + Math.min(id.seq, MAX_SEQ) };
}

export const parseRecord = (text: string): UsageRecord => UsageRecord.parse(JSON.parse(text));

/** A process's refused requests of some seconds; `id` is its own. */
const RefusalCounts = z.object({
  id: z.string().min(1),
  counts: z.array(
    z.object({
      /** `2026-11-20T11` (UTC) */
      hour: z.string().regex(/^\d{4}-\d{2}-\d{2}T\d{2}$/),
      keyId: z.string(),
      team: z.string().nullable(),
      endpoint: z.string(),
      /** Null if the body was not read. */
      model: z.string().nullable(),
      count: z.int().min(1),
    }),
  ),
});
export type RefusalCounts = z.infer<typeof RefusalCounts>;

export const parseRefusals = (text: string): RefusalCounts => RefusalCounts.parse(JSON.parse(text));
