/** A reading of a body on its way: a request's that arrives, or a reply's that the caller takes. */
export interface BodyReading {
  /** Of `performance.now()`. */
  readonly nowMs: number;
  /** The bytes that have passed over the connection. */
  readonly bytes: number;
  /** Whether the caller has nothing to do: the edge has paused reading its request, or has no more of the reply. */
  readonly held: boolean;
}

export interface BodyLimits {
  /** How long no byte may pass. */
  readonly idleMs: number;
  /** The least average rate over `RATE_WINDOW_MS`; 0 for any rate. */
  readonly minBytesPerSecond: number;
}

/** `idle`: no byte passed for too long; `slow`: fewer bytes than the rate. */
export type Slowness = 'idle' | 'slow';

/** Long enough for a mobile connection to be lost for some seconds. */
export const RATE_WINDOW_MS = 30_000;

/**
 * Follows how a body passes, by readings taken now and then. Time in which the caller has nothing to do does not count
 * against it: it restarts both measurements.
 */
export function followBody(
  first: BodyReading,
  { idleMs, minBytesPerSecond }: BodyLimits,
): (reading: BodyReading) => Slowness | undefined {
  let progress = first;
  let windowStart = first;
  return (reading) => {
    const { nowMs, bytes, held } = reading;
    if (held) {
      progress = reading;
      windowStart = reading;
      return undefined;
    }
    if (bytes > progress.bytes) progress = reading;
    else if (nowMs - progress.nowMs >= idleMs) return 'idle';
    const windowMs = nowMs - windowStart.nowMs;
    if (windowMs < RATE_WINDOW_MS) return undefined;
    if ((bytes - windowStart.bytes) * 1000 < minBytesPerSecond * windowMs) return 'slow';
    windowStart = reading;
    return undefined;
  };
}
