import { type BrokenRecord, readStored } from '@gateway/metering/broken-records';
import {
  entryIdText,
  type OutboxEntry,
  type OutboxStream,
  parseRecord,
  parseRefusals,
  placeOf,
} from '@gateway/metering/usage/outbox';
import { refusedGroups } from '@gateway/metering/usage/refusals';
import { groupsOf } from '@gateway/metering/usage/sums';
import { brokenEntry } from '@gateway/metering/usage/unrecorded-usage';
import { hourNumber } from '@gateway/metering/usage/usage-rows';
import { z } from 'zod';
import { type ChargedRecord, type ChargeOptions, chargeAccounts } from '../access/spent-accounts.ts';
import { placesOf, type Queries, QueryError } from '../database/database.ts';
import { addKeyUses } from '../key-uses/key-uses.ts';
import { type Additions, createAdditions } from '../usage/add-sums.ts';
import { type PlacedRecord, RECORD_COLUMNS, rowOf } from '../usage/record-rows.ts';
import { type GroupIds, storable } from '../usage/usage-groups.ts';
import type { Lease } from './lease.ts';
import { preparePartitions } from './partitions.ts';
import { writeCursor } from './stream-cursors.ts';

/** Rows of records that one statement writes. */
const AT_ONCE = 100;
/** What is kept of an entry that cannot be read. */
const MAX_BROKEN_LENGTH = 65_536;

const Ids = z.array(z.object({ id: z.string() }));

export interface WriteOptions {
  readonly lease: Pick<Lease, 'write'>;
  readonly dialect: 'sqlite' | 'postgres';
  readonly groupIds: GroupIds;
  readonly onBroken: (broken: BrokenRecord) => void;
  readonly charging: ChargeOptions;
}

/**
 * Writes the next entries of a stream and how far it has been read, together. An entry that cannot be read, or that the database
 * never takes, is put aside: no other waits for it.
 *
 * @throws {LostLease | QueryError} where nothing, or only the first of them, was written
 */
export async function writeEntries(
  options: WriteOptions,
  stream: OutboxStream,
  entries: readonly OutboxEntry[],
): Promise<void> {
  try {
    await writeAll(options, stream, entries, entries.length === 1 ? 'try' : 'expect');
  } catch (error) {
    options.groupIds.forget();
    if (!(error instanceof QueryError) || error.kind !== 'data') throw error;
    if (entries.length === 1) {
      await writeAll(options, stream, entries, 'put aside');
      return;
    }
    const half = Math.ceil(entries.length / 2);
    await writeEntries(options, stream, entries.slice(0, half));
    await writeEntries(options, stream, entries.slice(half));
  }
}

async function writeAll(
  { lease, dialect, groupIds, onBroken, charging }: WriteOptions,
  stream: OutboxStream,
  entries: readonly OutboxEntry[],
  mode: 'expect' | 'try' | 'put aside',
): Promise<void> {
  const last = entries.at(-1);
  if (last === undefined) return;
  const read =
    mode === 'put aside' ? { records: [], refusals: [], broken: entries } : readEntries(stream, entries);
  await lease.write(async (queries) => {
    const additions = createAdditions();
    const written = await writeRecords(queries, { dialect, groupIds, additions }, read.records);
    await chargeAccounts(queries, charging, written);
    await addKeyUses(queries, written, charging.now());
    charging.onChargedAgain(await chargedAgain(queries, read.records, written));
    await writeRefusals(queries, additions, read.refusals);
    await additions.write(queries, groupIds);
    for (const entry of read.broken)
      await queries.query(
        'insert into broken_records (stream, entry, content) values ($1, $2, $3) on conflict do nothing',
        [stream.name, entryIdText(entry.id), storable(entry.text.slice(0, MAX_BROKEN_LENGTH))],
      );
    await writeCursor(queries, stream, last.id);
  });
  for (const entry of read.broken) onBroken(brokenEntry(stream, entry));
}

interface ReadEntries {
  readonly records: (PlacedRecord & ChargedRecord)[];
  readonly refusals: { readonly entry: OutboxEntry; readonly counted: ReturnType<typeof parseRefusals> }[];
  readonly broken: readonly OutboxEntry[];
}

function readEntries(stream: OutboxStream, entries: readonly OutboxEntry[]): ReadEntries {
  const broken: OutboxEntry[] = [];
  const read: ReadEntries = { records: [], refusals: [], broken };
  for (const entry of entries) {
    const putAside = () => void broken.push(entry);
    const place = brokenEntry(stream, entry);
    if (stream.kind === 'records') {
      const record = readStored(entry.text, parseRecord, place, putAside);
      if (record !== undefined)
        read.records.push({ id: placeOf(entry, record), record, charged: entry.charged });
    } else {
      const counted = readStored(entry.text, parseRefusals, place, putAside);
      if (counted !== undefined) read.refusals.push({ entry, counted });
    }
  }
  return read;
}

/** Returns those that were not there yet. */
async function writeRecords<Placed extends PlacedRecord>(
  queries: Queries,
  {
    dialect,
    groupIds,
    additions,
  }: Pick<WriteOptions, 'dialect' | 'groupIds'> & { readonly additions: Additions },
  placed: readonly Placed[],
): Promise<readonly Placed[]> {
  if (placed.length === 0) return [];
  if (dialect === 'postgres')
    await preparePartitions(
      queries,
      placed.map(({ record }) => record.startedAtMs),
    );
  const idOf = await groupIds.of(
    queries,
    placed.map(({ record }) => groupsOf(record)),
  );
  const isNew: Placed[] = [];
  for (let at = 0; at < placed.length; at += AT_ONCE) {
    // The same record twice in a statement: the first one counts.
    const some = new Map(
      placed
        .slice(at, at + AT_ONCE)
        .toReversed()
        .map((one) => [one.record.id, one]),
    );
    const rows = await queries.query(
      `insert into usage_records (${RECORD_COLUMNS.join(', ')})
       values ${placesOf(some.size, RECORD_COLUMNS.length)} on conflict do nothing returning id`,
      [...some.values()].flatMap((one) => rowOf(one, idOf(groupsOf(one.record)))),
    );
    const written = new Set(Ids.parse(rows).map(({ id }) => id));
    isNew.push(...[...some.values()].filter(({ record }) => written.has(storable(record.id))));
  }
  for (const one of isNew) additions.addRecord(one);
  return isNew;
}

const Places = z.array(z.object({ id: z.string(), ended_at: z.int(), ended_seq: z.int() }));

/** The accounts of records that were settled again, by an entry of their own: not of entries that are read again. */
async function chargedAgain(
  { query }: Queries,
  placed: readonly (PlacedRecord & ChargedRecord)[],
  written: readonly PlacedRecord[],
): Promise<readonly string[]> {
  const isNew = new Set(written);
  const again = placed.filter((one) => !isNew.has(one) && one.charged !== 'lost' && one.charged.length > 0);
  if (again.length === 0) return [];
  const rows = await query(
    `select id, ended_at, ended_seq from usage_records where id in ${placesOf(1, again.length)}`,
    again.map(({ record }) => storable(record.id)),
  );
  const places = new Map(Places.parse(rows).map((row) => [row.id, row]));
  return again.flatMap(({ id, record, charged }) => {
    const place = places.get(storable(record.id));
    const isSame = place === undefined || (place.ended_at === id.ms && place.ended_seq === id.seq);
    return isSame || charged === 'lost' ? [] : charged;
  });
}

async function writeRefusals(
  { query }: Queries,
  additions: Additions,
  refusals: ReadEntries['refusals'],
): Promise<void> {
  for (const { entry, counted } of refusals) {
    const written = await query(
      'insert into refusal_counts (id, ended_at) values ($1, $2) on conflict do nothing returning id',
      [storable(counted.id), entry.id.ms],
    );
    if (written.length === 0) continue;
    for (const one of counted.counts)
      additions.addSum(hourNumber(Date.parse(`${one.hour}:00Z`)), refusedGroups(one), 'refused', one.count);
  }
}
