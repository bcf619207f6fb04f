import { setTimeout as delay } from 'node:timers/promises';
import { errorMessage } from '@gateway/contracts/error-message';

/** A process that has started. */
export interface Running {
  readonly pid: number;
  /** Resolves with how it ended, in words. */
  readonly ended: Promise<string>;
  kill(signal: NodeJS.Signals): void;
}

/** Whether a process that ends is started again; the longest time before that, where it is not ten seconds. */
export type Restarts = boolean | { readonly maxDelayMs: number };

export interface SuperviseOptions<R extends Running> {
  readonly name: string;
  /** Starts it on the address of `previous`, which has ended. Rejects if it cannot start. */
  readonly start: (signal: AbortSignal, previous: R | null) => Promise<R>;
  /** Aborts the start, and the restarts. */
  readonly signal: AbortSignal;
  readonly restarts: Restarts;
  readonly report: (line: string) => void;
  readonly firstDelayMs?: number;
}

export interface Supervised<R extends Running> {
  /** The process that runs now, or ran last. */
  current(): R;
  /** Sends SIGTERM, and SIGKILL after `timeoutMs`. Resolves when it has ended for good. */
  stop(timeoutMs: number): Promise<void>;
  /** Ends it at once, for good. */
  end(): void;
}

const FIRST_DELAY_MS = 200;
const MAX_DELAY_MS = 10_000;
/** A process that has run this long is restarted after the first delay. */
const GOOD_RUN_MS = 60_000;

/**
 * Starts a process and starts it again whenever it ends, each time after twice the delay.
 * The first start must succeed: its error is the caller's. Later ones are tried for ever.
 */
export async function supervise<R extends Running>(options: SuperviseOptions<R>): Promise<Supervised<R>> {
  const stopping = new AbortController();
  const signal = AbortSignal.any([options.signal, stopping.signal]);
  let current = await options.start(signal, null);
  const firstDelayMs = options.firstDelayMs ?? FIRST_DELAY_MS;
  const { maxDelayMs } =
    typeof options.restarts === 'object' ? options.restarts : { maxDelayMs: MAX_DELAY_MS };
  let delayMs = firstDelayMs;

  const again = async (how: string): Promise<void> => {
    for (let reason = how; ; ) {
      options.report(`${options.name} ended (${reason}); restarting in ${delayMs / 1000} s`);
      await delay(delayMs, undefined, { signal });
      delayMs = Math.min(delayMs * 2, maxDelayMs);
      try {
        current = await options.start(signal, current);
        options.report(`${options.name} is running again`);
        return;
      } catch (error) {
        signal.throwIfAborted();
        reason = errorMessage(error);
      }
    }
  };
  const keep = async (): Promise<void> => {
    for (;;) {
      const startedAtMs = performance.now();
      const how = await current.ended;
      if (signal.aborted) return;
      if (!options.restarts) return options.report(`${options.name} ended (${how})`);
      if (performance.now() - startedAtMs > GOOD_RUN_MS) delayMs = firstDelayMs;
      await again(how);
    }
  };
  // Rejects only when it is aborted while it waits or starts; no process runs then.
  const kept = keep().catch(() => undefined);

  return {
    current: () => current,
    end: () => {
      stopping.abort();
      current.kill('SIGKILL');
    },
    stop: async (timeoutMs) => {
      stopping.abort();
      current.kill('SIGTERM');
      const timer = setTimeout(() => current.kill('SIGKILL'), timeoutMs);
      await current.ended;
      await kept;
      clearTimeout(timer);
    },
  };
}
