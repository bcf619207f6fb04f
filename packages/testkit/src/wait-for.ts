import { setTimeout as delay } from 'node:timers/promises';

const INTERVAL_MS = 10;

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
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    let cause: unknown;
    try {
      const value = await condition();
      if (value) return value;
    } catch (error) {
      cause = error;
    }
    if (performance.now() > deadline)
      throw new Error(`${what} did not hold within ${timeoutMs} ms`, { cause });
    await delay(INTERVAL_MS);
  }
}
