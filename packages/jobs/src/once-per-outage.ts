const QUIET_MS = 30_000;

/**
 * Passes an error on, unless the same one was told within the last half minute: while Redis is away every connection
 * reports it at every attempt.
 */
export function oncePerOutage(onError: (error: unknown) => void): (error: unknown) => void {
  const told = new Map<string, number>();
  return (error) => {
    const text = error instanceof Error ? error.message : String(error);
    const nowMs = performance.now();
    const lastMs = told.get(text);
    if (lastMs !== undefined && nowMs - lastMs < QUIET_MS) return;
    for (const [other, atMs] of told) if (nowMs - atMs >= QUIET_MS) told.delete(other);
    told.set(text, nowMs);
    onError(error);
  };
}
