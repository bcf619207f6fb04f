/** What is seen of a request that has not arrived completely. */
export interface BodyReading {
  /** Of `performance.now()`. */
  readonly nowMs: number;
  /** How much has come over the connection. */
  readonly bytes: number;
  /** Whether it is we who do not read, because the service takes no more. */
  readonly held: boolean;
}

export interface BodyLimits {
  /** How long nothing may come. */
  readonly idleMs: number;
  /** What must come on average over `RATE_WINDOW_MS`; 0 for any rate. */
  readonly minBytesPerSecond: number;
}

/** `idle`: nothing came for too long; `slow`: less than the rate came. */
export type Slowness = 'idle' | 'slow';

/** Long enough for a mobile connection to be lost for some seconds. */
export const RATE_WINDOW_MS = 30_000;

/**
 * Follows how a body arrives, by readings taken now and then. Time in which we do not read is no slowness of the
 * caller: it starts both measurements anew.
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
