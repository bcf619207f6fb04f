import type { Rest, RestSharing } from './rests/rest.ts';
import type { TargetHealth } from './targets/target-health.ts';

/**
 * A probe that has not been answered for this long is followed by another, since its process may have died. A
 * slow provider then gets one more request each time, which does no harm: any of them may prove it, and a
 * rest is ended once.
 */
export const PROBE_MS = 30_000;
/** How soon the next check follows whether another replica's probe has ended. */
const OTHERS_PROBE_MS = 1_000;

interface Unproven {
  readonly health: TargetHealth;
  readonly rest: Rest;
}

/** One request at a time probes what has rested, in all replicas together. */
export interface Probing {
  /** Whether a request that depends on these targets may be sent: it probes those of them whose rest is over. */
  admit(targets: readonly TargetHealth[]): boolean | Promise<boolean>;
  /** The probe showed nothing: another request may probe. */
  release(targets: readonly TargetHealth[]): void;
}

export const createProbing = ({
  clock,
  sharing,
}: {
  readonly clock: () => number;
  readonly sharing: RestSharing | null;
}): Probing => {
  const begin = async ({ health, rest }: Unproven): Promise<boolean> => {
    health.probedUntilMs = clock() + PROBE_MS;
    if (sharing === null || (await sharing.beginProbe(rest))) return true;
    if (health.rest === rest) health.probedUntilMs = clock() + OTHERS_PROBE_MS;
    return false;
  };

  const giveUp = ({ health, rest }: Unproven): void => {
    if (health.rest === rest) health.probedUntilMs = 0;
    sharing?.endProbe(rest);
  };

  const beginAll = async (unproven: readonly Unproven[]): Promise<boolean> => {
    const begun = await Promise.all(unproven.map(begin));
    if (begun.every(Boolean)) return true;
    for (const [index, one] of unproven.entries()) if (begun[index]) giveUp(one);
    return false;
  };

  return {
    admit(targets) {
      const nowMs = clock();
      const unproven = targets.flatMap((health): Unproven[] =>
        health.rest !== null && health.isUnproven(nowMs) ? [{ health, rest: health.rest }] : [],
      );
      if (unproven.length === 0) return true;
      return unproven.some(({ health }) => nowMs < health.probedUntilMs) ? false : beginAll(unproven);
    },
    release(targets) {
      const nowMs = clock();
      for (const health of targets)
        if (health.rest !== null && health.isUnproven(nowMs) && nowMs < health.probedUntilMs)
          giveUp({ health, rest: health.rest });
    },
  };
};
