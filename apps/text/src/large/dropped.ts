import type { Dropped } from '../neutral/losses.ts';

/** More than a header names. */
const MAX_DROPPED = 100;

/** What a large request lost: the first ones, and the number of all. */
export interface DroppedList {
  readonly first: readonly Dropped[];
  readonly count: number;
}

export const droppedList = (dropped: readonly Dropped[]): DroppedList => ({
  first: dropped.slice(0, MAX_DROPPED),
  count: dropped.length,
});

/** The list again: of those beyond the first ones only the number counts. */
export function allDropped({ first, count }: DroppedList): readonly Dropped[] {
  const last = first.at(-1);
  return last === undefined ? [] : [...first, ...Array<Dropped>(count - first.length).fill(last)];
}
