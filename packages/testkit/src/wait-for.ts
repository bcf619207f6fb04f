import { setTimeout as delay } from 'node:timers/promises';

/** Between two calls: a tenth of the time that it has taken, so that a long wait does not keep the processes busy that others wait for. */
const MIN_INTERVAL_MS = 10;
const MAX_INTERVAL_MS = 100;

type Falsy = false | 0 | '' | null | undefined;

/**
 * Calls the condition until it holds, and returns its value. A condition that throws does not hold yet, so `expect` may be
 * used inside. The bound is only there to end a test that would hang: never assert on time with it.
 * @throws Error after `timeoutMs`, with what the condition threw last as its cause.
 */
export async function waitFor<T>(
  condition: () => T | Falsy | Promise<T | Falsy>,
  { timeoutMs = 30_000, what = 'the condition' }: { timeoutMs?: number; what?: string } = {},
): Promise<T> {
  const startedAtMs = performance.now();
  for (;;) {
    let cause: unknown;
    try {
      const value = await condition();
      if (value) return value;
    } catch (error) {
      cause = error;
    }
    const elapsedMs = performance.now() - startedAtMs;
    if (elapsedMs > timeoutMs) throw new Error(`${what} did not hold within ${timeoutMs} ms`, { cause });
    await delay(Math.min(Math.max(elapsedMs / 10, MIN_INTERVAL_MS), MAX_INTERVAL_MS));
  }
}
