import type { SlotPool, SlotWaiter } from './slot-pool.ts';

/** How the wait of a request for a slot ended. */
export type WaitOutcome = 'served' | 'busy' | 'left';

/** The account that a request waited for; the first one, if it waited for several in vain. */
export interface SlotWait {
  readonly channel: string;
  readonly account: string;
  readonly outcome: WaitOutcome;
  readonly durationMs: number;
}

interface WaitOptions {
  readonly maxMs: number;
  /** Ends the wait. */
  readonly signal: AbortSignal | undefined;
  readonly onWait?: ((wait: SlotWait) => void) | undefined;
}

/** Waits until one of these pools has taken a slot for the request. Null: none did in time, or the caller left. */
export function waitForSlot(
  pools: ReadonlySet<SlotPool>,
  { maxMs, signal, onWait }: WaitOptions,
): Promise<SlotPool | null> {
  const { promise, resolve } = Promise.withResolvers<SlotPool | null>();
  const startedAtMs = performance.now();
  const [first] = pools;
  let isOver = false;
  const end = (outcome: WaitOutcome, pool: SlotPool | undefined): void => {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    signal?.removeEventListener('abort', leave);
    for (const one of pools) one.leave(waiter);
    if (pool !== undefined) {
      const { channel, account } = pool;
      onWait?.({ channel, account, outcome, durationMs: performance.now() - startedAtMs });
    }
    resolve(outcome === 'served' && pool !== undefined ? pool : null);
  };
  const waiter: SlotWaiter = {
    give: (pool) => {
      if (isOver) return false;
      end('served', pool);
      return true;
    },
  };
  const leave = (): void => end('left', first);
  const timer = setTimeout(() => end('busy', first), maxMs);
  signal?.addEventListener('abort', leave);
  let isWaiting = false;
  for (const pool of pools) {
    if (isOver) break;
    isWaiting = pool.wait(waiter) || isWaiting;
  }
  if (!isWaiting) end('busy', first);
  return promise;
}
