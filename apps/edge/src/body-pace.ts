/** A reading of a request that has not arrived completely. */
export interface BodyReading {
  /** Of `performance.now()`. */
  readonly nowMs: number;
  /** The bytes that have arrived over the connection. */
  readonly bytes: number;
  /** Whether the edge has paused reading, because the service takes no more. */
  readonly held: boolean;
}

export interface BodyLimits {
  /** How long no byte may arrive. */
  readonly idleMs: number;
  /** The least average rate over `RATE_WINDOW_MS`; 0 for any rate. */
  readonly minBytesPerSecond: number;
}

/** `idle`: no byte arrived for too long; `slow`: fewer bytes than the rate arrived. */
export type Slowness = 'idle' | 'slow';

/** Long enough for a mobile connection to be lost for some seconds. */
export const RATE_WINDOW_MS = 30_000;

/**
 * Follows how a body arrives, by readings taken now and then. Time in which the edge pauses reading does not count
 * against the caller: it restarts both measurements.
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
