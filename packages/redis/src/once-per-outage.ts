import { errorMessage } from '@gateway/contracts/error-message';

const QUIET_MS = 30_000;

/**
 * Passes an error on, unless the same one was passed on within the last half minute: while Redis is away every connection
 * reports it at every attempt.
 */
export function oncePerOutage(onError: (error: unknown) => void): (error: unknown) => void {
  const lastSeen = new Map<string, number>();
  return (error) => {
    const text = errorMessage(error);
    const nowMs = performance.now();
    const lastMs = lastSeen.get(text);
    if (lastMs !== undefined && nowMs - lastMs < QUIET_MS) return;
    for (const [other, atMs] of lastSeen) if (nowMs - atMs >= QUIET_MS) lastSeen.delete(other);
    lastSeen.set(text, nowMs);
    onError(error);
  };
}
