import { type HealthCandidate, keyOf, SCOPES, type Target, targetOf } from './target.ts';
import { TargetHealth } from './target-health.ts';

/** Targets that are remembered, at most; the oldest that does not rest is dropped first. */
const MAX_TARGETS = 2_000;

/** The targets that failed lately or rest: none while all is well, so that a request then costs one look at the size. */
export class TroubledTargets {
  readonly #targets = new Map<string, TargetHealth>();
  readonly #onDropped: (health: TargetHealth) => void;

  constructor(onDropped: (health: TargetHealth) => void) {
    this.#onDropped = onDropped;
  }

  get size(): number {
    return this.#targets.size;
  }

  all(): readonly TargetHealth[] {
    return [...this.#targets.values()];
  }

  /** Those that a request to the candidate depends on. */
  of(candidate: HealthCandidate): readonly TargetHealth[] {
    if (this.#targets.size === 0) return [];
    return SCOPES.flatMap((scope) => this.#targets.get(keyOf(targetOf(candidate, scope))) ?? []);
  }

  remember(target: Target): TargetHealth {
    const key = keyOf(target);
    const known = this.#targets.get(key);
    if (known !== undefined) return known;
    if (this.#targets.size >= MAX_TARGETS) this.#dropOne();
    const health = new TargetHealth(target);
    this.#targets.set(key, health);
    return health;
  }

  forget({ target }: TargetHealth): void {
    this.#targets.delete(keyOf(target));
  }

  #dropOne(): void {
    const all = this.all();
    const dropped = all.find(({ rest }) => rest === null) ?? all[0];
    if (dropped === undefined) return;
    this.forget(dropped);
    this.#onDropped(dropped);
  }
}
