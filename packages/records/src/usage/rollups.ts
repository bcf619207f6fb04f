import { GROUPS, type Group, type Groups } from '@gateway/metering/usage/sums';
import { z } from 'zod';
import type { Queries } from '../database/database.ts';

/**
 * By what sums are kept: by all groups, and by those that most pages ask for, which have far fewer rows. A rollup's place in this list
 * is stored: new ones are appended.
 */
const ROLLUPS: readonly (readonly Group[])[] = [
  GROUPS,
  [],
  ['model', 'channel', 'endpoint', 'outcome'],
  ['team', 'model'],
  ['keyId', 'team', 'outcome'],
  ['keyId', 'team', 'model'],
];
/** Those with the fewest rows first. */
const BY_SIZE = [1, 2, 3, 4, 5, 0] as const;

export const HOURS_PER_DAY = 24;

/** Sums of an hour, or of a day (UTC), by some groups. Both begin at a number since 1970. */
export interface Grain {
  /** As the column `grain` has it. */
  readonly hour: number;
  readonly day: number;
}
const grainOf = (rollup: number): Grain => ({ hour: 2 * rollup, day: 2 * rollup + 1 });

export const ALL_HOURS = ROLLUPS.map((_, at) => grainOf(at).hour);
export const ALL_DAYS = ROLLUPS.map((_, at) => grainOf(at).day);

/** Each rollup's grain, and the groups that usage of these groups counts in there: what it is not kept by is empty. */
export const rollupsOf = (groups: Groups): readonly { readonly grain: Grain; readonly groups: Groups }[] =>
  ROLLUPS.map((kept, at) => ({
    grain: grainOf(at),
    groups: {
      ...{ keyId: '', team: '', model: '', channel: '', endpoint: '', outcome: '' },
      ...Object.fromEntries(kept.map((name) => [name, groups[name]])),
    },
  }));

/** The fact that says from which hour on there are rollups: before, sums are by all groups only. */
export const ROLLUPS_SINCE = 'rollups since';
const Since = z.array(z.object({ value: z.coerce.number() }));

/** The grain with the fewest rows that tells these groups apart, from an hour on. */
export async function grainFor(
  { query }: Queries,
  { needed, fromHour }: { readonly needed: ReadonlySet<Group>; readonly fromHour: number },
): Promise<Grain> {
  const rows = await query('select value from recorder_facts where name = $1', [ROLLUPS_SINCE]);
  const sinceHour = Since.parse(rows).at(0)?.value ?? 0;
  const fits = (rollup: number) => [...needed].every((name) => ROLLUPS[rollup]?.includes(name));
  return grainOf(fromHour < sinceHour ? 0 : (BY_SIZE.find(fits) ?? 0));
}
