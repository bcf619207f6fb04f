import type { KeyOrder, PageRequest, RecordPage } from '@gateway/metering/keys/records/access-records';
import { z } from 'zod';
import { conditionsOf } from '../access/found-by.ts';
import type { Queries, SqlValue } from '../database/database.ts';

const Rows = z.array(
  z.object({
    id: z.string(),
    content: z.string(),
    last_used_at: z.int().nullable(),
    requests: z.int().nullable(),
    micro_usd: z.int().nullable(),
  }),
);
type Row = z.infer<typeof Rows>[number];

/** The columns of uses that keys are sorted by; keys with the same value follow each other by their ids. */
const COLUMNS = { lastUsed: 'last_used_at', requests: 'requests', spend: 'micro_usd' } as const;
type Column = (typeof COLUMNS)[keyof typeof COLUMNS] | null;

const NEWEST_FIRST: KeyOrder = { by: 'created', isAscending: false };

/** `12.key_1`: a value, and the key that had it. */
const AFTER = /^(\d{1,16})\.(.+)$/;

/** A page of keys with their uses. In an order of uses it is read along an index, and the keys are looked up. */
export async function readKeys(
  { query }: Queries,
  { limit, after, only = {}, order: { by, isAscending } = NEWEST_FIRST }: PageRequest,
): Promise<RecordPage> {
  const column: Column = by === 'created' ? null : COLUMNS[by];
  const [compare, direction] = isAscending ? ['>', 'asc'] : ['<', 'desc'];
  const values: SqlValue[] = [limit + 1];
  const place = (value: SqlValue): string => `$${values.push(value)}`;
  const wheres = conditionsOf(only, place);
  const [, value, keyId] = AFTER.exec(after ?? '') ?? [];
  if (column === null && after !== undefined) wheres.push(`a.id ${compare} ${place(after)}`);
  if (column !== null && value !== undefined && keyId !== undefined)
    wheres.push(`(u.${column}, u.key_id) ${compare} (${place(Number(value))}, ${place(keyId)})`);
  if (column !== null) wheres.push('a.id = u.key_id');
  // SQLite walks the table on the left of a cross join; of few keys it looks up their uses.
  const isOfFew = only.ids !== undefined || only.teams !== undefined;
  const from =
    column === null
      ? 'access_records a left join key_uses u on u.key_id = a.id'
      : `key_uses u ${isOfFew ? 'join access_records a on true' : 'cross join access_records a'}`;
  const sorted = column === null ? `a.id ${direction}` : `u.${column} ${direction}, u.key_id ${direction}`;
  const rows = Rows.parse(
    await query(
      `select a.id, a.content, u.last_used_at, u.requests, u.micro_usd from ${from}
       where ${["a.kind = 'key'", ...wheres].join(' and ')} order by ${sorted} limit $1`,
      values,
    ),
  );
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const next = last && (column === null ? last.id : `${last[column] ?? 0}.${last.id}`);
  return {
    records: shown.map((row) => ({ id: row.id, text: row.content, use: useOf(row) })),
    next: rows.length > limit && next !== undefined ? next : null,
  };
}

const useOf = ({ last_used_at: lastMs, requests, micro_usd: microUsd }: Row) => ({
  lastUsedMs: lastMs === 0 ? null : lastMs,
  requests: requests ?? 0,
  microUsd: microUsd ?? 0,
});
