import { CALLER_NAMES, type CallerNames } from '@gateway/contracts/usage/caller-names';
import type { RequestFilter } from '@gateway/metering/usage/request-filter';
import { SUCCEEDED } from '@gateway/metering/usage/sums';
import type { SqlValue } from '../database/database.ts';
import { columnOf } from '../database/migrations.ts';
import { storable } from './usage-groups.ts';

export interface Placing {
  /** Takes a value of the query, and returns its name in it. */
  readonly next: (value: SqlValue) => string;
  readonly values: readonly SqlValue[];
}

/** Names for values that follow so many others. */
export function placing(count: number): Placing {
  const values: SqlValue[] = [];
  return { values, next: (value) => `$${count + values.push(value)}` };
}

// `like` is case-sensitive in one of the databases only.
const has = (column: string, part: string): string => `replace(${column}, ${part}, '') <> ${column}`;

/** What records have to fulfil that is in no index. */
export function searchedBy(
  { idPart, minTotalMs, minFirstOutputMs, attempt }: RequestFilter,
  place: Placing['next'],
): string[] {
  const conditions: string[] = [];
  if (idPart !== undefined) {
    const part = place(storable(idPart));
    conditions.push(`(${has('r.id', part)} or ${has('r.request_id', part)})`);
  }
  if (minTotalMs !== undefined) conditions.push(`r.duration_ms >= ${place(minTotalMs)}`);
  if (minFirstOutputMs !== undefined) conditions.push(`r.first_byte_ms >= ${place(minFirstOutputMs)}`);
  if (attempt?.channel !== undefined) {
    // As a text of JSON within one.
    const listed = place(storable(JSON.stringify(JSON.stringify(attempt.channel)).slice(1, -1)));
    conditions.push(`(${has('r.detail', listed)} or g.channel = ${place(storable(attempt.channel))})`);
  }
  if (attempt?.outcome !== undefined && attempt.outcome !== SUCCEEDED)
    conditions.push(has('r.detail', place(`outcome=${attempt.outcome}`)));
  return conditions;
}

/** The names that callers gave, each of which has an index. */
export const namedBy = (
  { names = {} }: { readonly names?: CallerNames | undefined },
  place: Placing['next'],
): string[] =>
  CALLER_NAMES.flatMap((name) => {
    const value = names[name];
    return value === undefined ? [] : [`r.${columnOf(name)} = ${place(storable(value))}`];
  });

/** The groups of wanted records, by their ids; null: all. */
export const groupCondition = (ids: readonly number[] | null): string[] =>
  ids === null ? [] : [`r.group_id in (${ids.join(', ')})`];
