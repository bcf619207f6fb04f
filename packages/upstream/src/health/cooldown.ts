/** When a channel's targets rest, and for how long. */
export interface Cooldown {
  /** The number of failures in a row that put a target to rest. */
  readonly consecutiveFailures: number;
  /** Or this share of the requests within a window, from 0 to 1, once there were `minRequests`. */
  readonly failureRate: number;
  readonly minRequests: number;
  readonly windowMs: number;
  /** The first rest; each one that follows soon is twice as long. */
  readonly restMs: number;
  readonly maxRestMs: number;
}

export const DEFAULT_COOLDOWN: Cooldown = {
  consecutiveFailures: 5,
  failureRate: 0.5,
  minRequests: 20,
  windowMs: 30_000,
  restMs: 5_000,
  maxRestMs: 300_000,
};

/** Rests differ by up to this share, so that replicas and channels do not come back all at once. */
const JITTER = 0.2;

/** The length of a rest that nobody requested, in milliseconds. It doubles with each level, up to the maximum. `random` is in [0, 1). */
export function growingRestMs(
  { restMs, maxRestMs }: Cooldown,
  { level, minRestMs, random }: { level: number; minRestMs: number; random: number },
): number {
  const first = Math.max(restMs, minRestMs);
  const grown = Math.min(first * 2 ** level, Math.max(maxRestMs, minRestMs));
  return grown * (1 - JITTER + 2 * JITTER * random);
}
