import type { Rest } from './rests/rest.ts';

/** Hands out the candidates of one request, one after the other; where it is hedged, to both of its legs. */
export interface Turns<Candidate> {
  /** The next candidate that does not rest, in their order; null: there is none any more. */
  next(): Candidate | null | Promise<Candidate | null>;
  /**
   * Once there is none: the next of those that rest, the one that recovers soonest first, those that a person put to rest
   * last. `hasFailed`: a candidate of this request was tried and failed. Then those are left out whose rest the provider
   * or a person requested.
   */
  lastResort(hasFailed: boolean): Candidate | null;
  /** This candidate was handed out and is not sent anything: if it was to be probed, another request may. */
  skip(candidate: Candidate): void;
}

interface TurnRules<Candidate> {
  /** Whether nothing rests at all, which is nearly always so. */
  readonly isQuiet: () => boolean;
  /** What the candidate depends on and rests now. */
  readonly restsOf: (candidate: Candidate) => readonly Rest[];
  /** Whether the request may be sent now to a candidate that does not rest: not if another request probes it. */
  readonly admit: (candidate: Candidate) => boolean | Promise<boolean>;
  /** The candidate was admitted as a probe, and perhaps was not sent anything. */
  readonly release: (candidate: Candidate) => void;
}

interface Resting<Candidate> {
  readonly candidate: Candidate;
  readonly untilMs: number;
  readonly requested: boolean;
  readonly byPerson: boolean;
}

const resting = <Candidate>(candidate: Candidate, rests: readonly Rest[]): Resting<Candidate> => ({
  candidate,
  untilMs: Math.max(...rests.map(({ untilMs }) => untilMs)),
  requested: rests.some((rest) => rest.requested),
  byPerson: rests.some(({ by }) => by !== null),
});

/** Equal ends of rests keep their order; `Infinity` minus itself is no number. */
const bySoonest = <Candidate>(a: Resting<Candidate>, b: Resting<Candidate>): number => {
  if (a.byPerson !== b.byPerson) return a.byPerson ? 1 : -1;
  return a.untilMs === b.untilMs ? 0 : a.untilMs - b.untilMs;
};

export const createTurns = <Candidate>(
  candidates: readonly Candidate[],
  { isQuiet, restsOf, admit, release }: TurnRules<Candidate>,
): Turns<Candidate> => {
  let next = 0;
  /** Those that were passed over. Sorted once all others have had their turn. */
  const waiting: Resting<Candidate>[] = [];
  let isSorted = false;
  /** Those that were admitted to be probed. */
  let probes: Set<Candidate> | null = null;

  const pass = (candidate: Candidate): void => {
    waiting.push(resting(candidate, restsOf(candidate)));
  };

  const lastResort = (hasFailed: boolean): Candidate | null => {
    if (!isSorted) waiting.sort(bySoonest);
    isSorted = true;
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift())
      if (!hasFailed || !one.requested) return one.candidate;
    return null;
  };

  const skip = (candidate: Candidate): void => {
    if (probes?.delete(candidate)) release(candidate);
  };

  const advance = (): Candidate | null | Promise<Candidate | null> => {
    for (let candidate = candidates[next]; candidate !== undefined; candidate = candidates[next]) {
      const one = candidate;
      next += 1;
      if (isQuiet()) return one;
      if (restsOf(one).length > 0) {
        pass(one);
        continue;
      }
      const admitted = admit(one);
      if (admitted === true) return one;
      if (admitted === false) pass(one);
      else
        return admitted.then((isAdmitted) => {
          if (!isAdmitted) {
            pass(one);
            return advance();
          }
          probes ??= new Set();
          probes.add(one);
          return one;
        });
    }
    return null;
  };
  return { next: advance, lastResort, skip };
};
