import { daysIn, hoursOf, type UsageQuery } from '@gateway/metering/usage/usage-rows';
import { HOURS_IN, type Unit } from './rollups.ts';

/** Hours that one query names. */
const HOURS_AT_ONCE = 500;
/**
 * Rows that are looked up one by one. Of all groups, an hour of five million records in 90 days has some 1,900 rows and as many as five
 * latencies of each: a week of a key with 100 groups is found in half the time, and one with ten groups in a twentieth.
 */
const MAX_LOOKED_UP = 50_000;

/** A row's share in a day: it is added to it, or taken away from it. */
interface Share {
  readonly day: string;
  readonly factor: 1 | -1;
}

/** Hours, days or weeks (UTC) that are read together. */
interface Section {
  readonly unit: Unit;
  /** Which, in SQL. */
  readonly starts: string;
  readonly values: readonly number[];
  /** Whether they are told apart: else all of them are added up. */
  readonly isByStart: boolean;
  /** The days of the query's time zone in which one of them counts; of weeks nobody asks for days. */
  readonly sharesOf: (start: number) => readonly Share[];
}

const range = (first: number, end: number): number[] =>
  Array.from({ length: Math.max(0, end - first) }, (_, at) => first + at);

const DAYS_PER_WEEK = HOURS_IN.week / HOURS_IN.day;

/**
 * The times that a query's sums are read by. A long time is read by its whole weeks where there are some, its whole days (UTC), and
 * by the hours before and after them. By days of another time zone, the hours that belong to another day there are moved to it.
 *
 * @param weeksSince the first week that has sums; null where the query's groups have none
 * @param groupCount of how many groups sums are read; null: of all
 */
export function sectionsOf(
  query: UsageQuery,
  { weeksSince, groupCount }: { readonly weeksSince: number | null; readonly groupCount: number | null },
): Section[] {
  const dayOf = daysIn(query);
  const utcDay = (day: number): string => daysIn({})(day * HOURS_IN.day);
  const isByHour = query.groupBy.includes('hour');
  const isByDay = query.groupBy.includes('day');
  /** Each start of few groups has its place in the index; of a time alone, all groups would be read. */
  const startsOf = (first: number, end: number): Pick<Section, 'starts' | 'values'> =>
    groupCount !== null && end - first <= HOURS_AT_ONCE && groupCount * (end - first) <= MAX_LOOKED_UP
      ? { starts: `s.start in (${range(first, end).join(', ')})`, values: [] }
      : { starts: 's.start >= $1 and s.start < $2', values: [first, end] };
  const section = (unit: Unit, first: number, end: number, day?: string): Section[] =>
    first >= end
      ? []
      : [
          {
            ...{ unit, ...startsOf(first, end) },
            isByStart: day === undefined && (isByHour || isByDay),
            sharesOf: (start) => [{ day: day ?? (unit === 'hour' ? dayOf : utcDay)(start), factor: 1 }],
          },
        ];
  /** Hours of the same day are not told apart. */
  const hours = (first: number, end: number): Section[] => {
    if (!isByDay || isByHour) return section('hour', first, end);
    return [...Map.groupBy(range(first, end), dayOf)].flatMap(([day, [start = first, ...others]]) =>
      section('hour', start, start + others.length + 1, day),
    );
  };
  const [from, to] = hoursOf(query);
  const [firstDay, endDay] = [Math.ceil(from / HOURS_IN.day), Math.floor(to / HOURS_IN.day)];
  if (isByHour || firstDay >= endDay) return hours(from, to);
  const [first, end] = [firstDay * HOURS_IN.day, endDay * HOURS_IN.day];
  const edges = [...hours(from, first), ...hours(end, to)];
  if (!isByDay) {
    const firstWeek = Math.max(Math.ceil(firstDay / DAYS_PER_WEEK), weeksSince ?? Number.POSITIVE_INFINITY);
    const endWeek = Math.floor(endDay / DAYS_PER_WEEK);
    return firstWeek < endWeek
      ? [
          ...edges,
          ...section('day', firstDay, firstWeek * DAYS_PER_WEEK),
          ...section('week', firstWeek, endWeek),
          ...section('day', endWeek * DAYS_PER_WEEK, endDay),
        ]
      : [...edges, ...section('day', firstDay, endDay)];
  }
  const utcDayOf = (hour: number): string => utcDay(Math.floor(hour / HOURS_IN.day));
  const moved = range(first, end).filter((hour) => dayOf(hour) !== utcDayOf(hour));
  return [
    ...edges,
    ...section('day', firstDay, endDay),
    ...Array.from({ length: Math.ceil(moved.length / HOURS_AT_ONCE) }, (_, at): Section => {
      const some = moved.slice(at * HOURS_AT_ONCE, (at + 1) * HOURS_AT_ONCE);
      return {
        ...{ unit: 'hour', starts: `s.start in (${some.join(', ')})`, values: [], isByStart: true },
        sharesOf: (hour) => [
          { day: dayOf(hour), factor: 1 },
          { day: utcDayOf(hour), factor: -1 },
        ],
      };
    }),
  ];
}
