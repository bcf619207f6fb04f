import { GROUPS, type Group, type Groups, NO_GROUPS } from '@gateway/metering/usage/sums';
import type { Queries } from '../database/database.ts';
import { readFact } from '../database/facts.ts';

interface Rollup {
  readonly by: readonly Group[];
  /** Hours have many more rows than days: only of what is looked at by the hour. Weeks where days have too many rows to be added up. */
  readonly units: readonly Unit[];
}

/** What sums are kept of, in hours since 1970. */
export const HOURS_IN = { hour: 1, day: 24, week: 168 } as const;
export type Unit = keyof typeof HOURS_IN;
export const UNITS = ['hour', 'day', 'week'] as const satisfies readonly Unit[];

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
  { by: ['keyId', 'team', 'model'], units: ['day', 'week'] },
];
/** Those with the fewest rows first. */
const BY_SIZE = [1, 2, 3, 4, 5, 0] as const;

const FIRST_OF_WEEKS = 1000;

/** Sums of hours, days or weeks (UTC) by some groups, as the column `grain` has it. */
const grainOf = (rollup: number, unit: Unit): number =>
  unit === 'week' ? FIRST_OF_WEEKS + rollup : 2 * rollup + (unit === 'day' ? 1 : 0);

/** All grains of a unit. */
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

/** Facts, written when the schema came to them, that say from which hour on there are rollups, and weeks of them. */
const ROLLUPS_SINCE = 'rollups since';
const WEEKS_SINCE = 'weeks since';

/** Where sums by some groups are. */
export interface Grains {
  readonly hour: number;
  readonly day: number;
  /** Null where it has none; `since` is the number of the first whole one. */
  readonly week: { readonly grain: number; readonly since: number } | null;
}

/** The grains with the fewest rows that tell these groups apart, from an hour on. */
export async function grainsFor(
  queries: Queries,
  { needed, fromHour }: { readonly needed: ReadonlySet<Group>; readonly fromHour: number },
): Promise<Grains> {
  const since = async (fact: string): Promise<number> => Number((await readFact(queries, fact)) ?? 0);
  const sinceHour = await since(ROLLUPS_SINCE);
  const fits = (rollup: number, unit: Unit): boolean => {
    const { by, units } = ROLLUPS[rollup] ?? { by: [], units: [] };
    return units.includes(unit) && [...needed].every((name) => by.includes(name));
  };
  const best = (unit: Unit): number =>
    fromHour < sinceHour ? 0 : (BY_SIZE.find((rollup) => fits(rollup, unit)) ?? 0);
  const byDay = best('day');
  return {
    hour: grainOf(best('hour'), 'hour'),
    day: grainOf(byDay, 'day'),
    week: fits(byDay, 'week')
      ? {
          grain: grainOf(byDay, 'week'),
          since: Math.ceil((await since(WEEKS_SINCE)) / HOURS_IN.week),
        }
      : null,
  };
}
