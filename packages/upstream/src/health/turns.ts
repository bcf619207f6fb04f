import type { Rest } from './rests/rest.ts';

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

/** Hands out the candidates of one request, one after the other; where it is hedged, to both of its legs. */
export class Turns<Candidate> {
  readonly #candidates: readonly Candidate[];
  readonly #rules: TurnRules<Candidate>;
  #next = 0;
  /** Those that were passed over. Sorted once all others have had their turn. */
  #waiting: Resting<Candidate>[] | null = null;
  #isSorted = false;
  /** Those that were admitted to be probed. */
  #probes: Set<Candidate> | null = null;

  constructor(candidates: readonly Candidate[], rules: TurnRules<Candidate>) {
    this.#candidates = candidates;
    this.#rules = rules;
  }

  /** The next candidate that does not rest, in their order; null: there is none any more. */
  next(): Candidate | null | Promise<Candidate | null> {
    const { isQuiet, restsOf, admit } = this.#rules;
    for (;;) {
      const candidate = this.#candidates[this.#next];
      if (candidate === undefined) return null;
      this.#next += 1;
      if (isQuiet()) return candidate;
      const admitted = restsOf(candidate).length === 0 && admit(candidate);
      if (admitted === true) return candidate;
      if (admitted !== false) return admitted.then((isAdmitted) => this.#probe(candidate, isAdmitted));
      this.#pass(candidate);
    }
  }

  /**
   * Once there is none: the next of those that rest, the one that recovers soonest first, those that a person put to rest
   * last. `hasFailed`: a candidate of this request was tried and failed. Then those are left out whose rest the provider
   * or a person requested.
   */
  lastResort(hasFailed: boolean): Candidate | null {
    const waiting = this.#waiting;
    if (waiting === null) return null;
    if (!this.#isSorted) waiting.sort(bySoonest);
    this.#isSorted = true;
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift())
      if (!hasFailed || !one.requested) return one.candidate;
    return null;
  }

  /** This candidate was handed out and is not sent anything: if it was to be probed, another request may. */
  skip(candidate: Candidate): void {
    if (this.#probes?.delete(candidate)) this.#rules.release(candidate);
  }

  #probe(candidate: Candidate, isAdmitted: boolean): Candidate | null | Promise<Candidate | null> {
    if (!isAdmitted) {
      this.#pass(candidate);
      return this.next();
    }
    this.#probes ??= new Set();
    this.#probes.add(candidate);
    return candidate;
  }

  #pass(candidate: Candidate): void {
    const rests = this.#rules.restsOf(candidate);
    this.#waiting ??= [];
    this.#waiting.push({
      candidate,
      untilMs: Math.max(...rests.map(({ untilMs }) => untilMs)),
      requested: rests.some((rest) => rest.requested),
      byPerson: rests.some(({ by }) => by !== null),
    });
  }
}

/** Equal ends of rests keep their order; `Infinity` minus itself is no number. */
const bySoonest = <Candidate>(a: Resting<Candidate>, b: Resting<Candidate>): number => {
  if (a.byPerson !== b.byPerson) return a.byPerson ? 1 : -1;
  return a.untilMs === b.untilMs ? 0 : a.untilMs - b.untilMs;
};
