import { GROUPS, type Group, type Groups, NO_GROUPS } from '@gateway/metering/usage/sums';
import type { Queries } from '../database/database.ts';
import { readFact } from '../database/facts.ts';

interface Rollup {
  readonly by: readonly Group[];
  /** Hours have many more rows than days: only of what is looked at by the hour. */
  readonly units: readonly Unit[];
}
export type Unit = 'hour' | 'day';

const BOTH: readonly Unit[] = ['hour', 'day'];

/**
 * By what sums are kept: by all groups, and by those that most pages ask for, which have far fewer rows. A rollup's place in this list
 * is stored: new ones are appended.
 */
const ROLLUPS: readonly Rollup[] = [
  { by: GROUPS, units: BOTH },
  { by: [], units: BOTH },
  { by: ['model', 'channel', 'endpoint', 'outcome', 'errorCode', 'status'], units: BOTH },
  { by: ['team', 'model'], units: ['day'] },
  { by: ['keyId', 'team', 'outcome', 'errorCode', 'status'], units: BOTH },
  { by: ['keyId', 'team', 'model'], units: ['day'] },
];
/** Those with the fewest rows first. */
const BY_SIZE = [1, 2, 3, 4, 5, 0] as const;

export const HOURS_PER_DAY = 24;

/** Sums of hours, or of days (UTC), by some groups, as the column `grain` has it. */
const grainOf = (rollup: number, unit: Unit): number => 2 * rollup + (unit === 'day' ? 1 : 0);

/** All grains of hours, or of days. */
export const grainsOf = (unit: Unit): readonly number[] =>
  ROLLUPS.flatMap(({ units }, at) => (units.includes(unit) ? [grainOf(at, unit)] : []));

/** What usage of some groups is added to: grains, and its groups there. What a rollup is not kept by is empty. */
export const rollupsOf = (
  groups: Groups,
): readonly {
  readonly groups: Groups;
  readonly grains: readonly { readonly unit: Unit; readonly grain: number }[];
}[] =>
  ROLLUPS.map(({ by, units }, at) => ({
    grains: units.map((unit) => ({ unit, grain: grainOf(at, unit) })),
    groups: {
      ...NO_GROUPS,
      ...Object.fromEntries(by.map((name) => [name, groups[name]])),
    },
  }));

/** The fact, written when the schema came to it, that says from which hour on there are rollups: before, sums are by all groups only. */
const ROLLUPS_SINCE = 'rollups since';

/** The grains with the fewest rows that tell these groups apart, from an hour on. */
export async function grainsFor(
  queries: Queries,
  { needed, fromHour }: { readonly needed: ReadonlySet<Group>; readonly fromHour: number },
): Promise<Readonly<Record<Unit, number>>> {
  const sinceHour = Number((await readFact(queries, ROLLUPS_SINCE)) ?? 0);
  const fits = (rollup: number, unit: Unit): boolean => {
    const { by, units } = ROLLUPS[rollup] ?? { by: [], units: [] };
    return units.includes(unit) && [...needed].every((name) => by.includes(name));
  };
  const best = (unit: Unit): number =>
    grainOf(fromHour < sinceHour ? 0 : (BY_SIZE.find((rollup) => fits(rollup, unit)) ?? 0), unit);
  return { hour: best('hour'), day: best('day') };
}
