import type { RecordFilter, RecordKind } from '@gateway/metering/keys/records/access-records';
import type { ProjectedRecord } from '@gateway/metering/keys/records/projection';
import { z } from 'zod';
import { placesOf, type Queries, type SqlValue } from '../database/database.ts';
import { conditionsOf } from './found-by.ts';

const Kind = z.enum(['key', 'team']) satisfies z.ZodType<RecordKind>;
const Contents = z.array(z.object({ id: z.string(), version: z.int(), content: z.string() }));
const Changes = z.array(z.object({ version: z.int(), kind: Kind, id: z.string() }));
const Ids = z.array(z.object({ id: z.string() }));
const Versions = z.tuple([z.object({ version: z.int() })]);

/** A record as it is; undefined where there is none. */
export async function readRecord(
  { query }: Queries,
  kind: RecordKind,
  id: string,
): Promise<{ readonly version: number; readonly text: string } | undefined> {
  const rows = await query('select id, version, content from access_records where kind = $1 and id = $2', [
    kind,
    id,
  ]);
  const row = Contents.parse(rows).at(0);
  return row && { version: row.version, text: row.content };
}

/** The next records of a kind in an order of their ids. */
export async function readRecords(
  { query }: Queries,
  {
    kind,
    order,
    after,
    limit,
    only = {},
  }: {
    readonly kind: RecordKind;
    readonly order: 'ascending' | 'descending';
    readonly after: string | undefined;
    readonly limit: number;
    readonly only?: RecordFilter | undefined;
  },
): Promise<readonly (ProjectedRecord & { readonly text: string })[]> {
  const [compare, direction] = order === 'ascending' ? ['>', 'asc'] : ['<', 'desc'];
  const values: SqlValue[] = [kind, limit];
  const wheres = conditionsOf(only, (value) => `$${values.push(value)}`);
  if (after !== undefined) wheres.push(`id ${compare} $${values.push(after)}`);
  const rows = await query(
    `select id, version, content from access_records where ${['kind = $1', ...wheres].join(' and ')} order by id ${direction} limit $2`,
    values,
  );
  return Contents.parse(rows).map(({ id, version, content }) => ({ kind, id, version, text: content }));
}

/** Takes so many versions, of which the last is returned. Changes of records wait here for each other. */
export async function takeVersions({ query }: Queries, count: number): Promise<number> {
  const rows = await query('update access_version set version = version + $1 returning version', [count]);
  const [{ version }] = Versions.parse(rows);
  return version;
}

/** The latest version of any record. */
export async function readVersion({ query }: Queries): Promise<number> {
  const [{ version }] = Versions.parse(await query('select version from access_version'));
  return version;
}

/** Gives all records one version, beyond a given one and all that there are. */
export async function raiseVersions(queries: Queries, beyond: number): Promise<void> {
  const latest = await readVersion(queries);
  const version = await takeVersions(queries, Math.max(beyond - latest, 0) + 1);
  await queries.query('update access_records set version = $1', [version]);
}

/** Those of some ids of which there is no record. */
export async function missingRecords(
  { query }: Queries,
  kind: RecordKind,
  ids: readonly string[],
): Promise<readonly string[]> {
  if (ids.length === 0) return [];
  const rows = await query(
    `select id from access_records where kind = $1 and id in ${placesOf(1, ids.length, 1)}`,
    [kind, ...ids],
  );
  const found = new Set(Ids.parse(rows).map(({ id }) => id));
  return ids.filter((id) => !found.has(id));
}

/** Records that Redis may not know of yet, each as it is now. */
export async function readChanges(
  queries: Queries,
  limit: number,
): Promise<readonly { readonly change: number; readonly record: ProjectedRecord }[]> {
  const rows = await queries.query('select version, kind, id from access_changes order by version limit $1', [
    limit,
  ]);
  const changes: { change: number; record: ProjectedRecord }[] = [];
  for (const { version: change, kind, id } of Changes.parse(rows)) {
    const found = (await readRecord(queries, kind, id)) ?? { version: change, text: null };
    changes.push({ change, record: { kind, id, ...found } });
  }
  return changes;
}
