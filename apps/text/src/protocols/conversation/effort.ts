import { EFFORTS, type Effort } from '@gateway/contracts/quirks';

const rank = (effort: Effort): number => EFFORTS.indexOf(effort);

export const readEffort = (word: string | null | undefined): Effort | undefined =>
  EFFORTS.find((effort) => effort === word);

/** The wanted effort, else the next weaker one that the model takes, else its weakest. Null where it takes none. */
export function nearestEffort(wanted: Effort, known: readonly Effort[]): Effort | null {
  const ordered = known.toSorted((a, b) => rank(a) - rank(b));
  return ordered.findLast((effort) => rank(effort) <= rank(wanted)) ?? ordered[0] ?? null;
}
