import type { EventEmitter } from 'node:events';

interface StopActions {
  /** The first signal: stop in order. */
  readonly stop: () => void;
  /** A later one: end at once. */
  readonly end: () => void;
  readonly nowMs: () => number;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** A terminal's Ctrl-C may arrive several times: from the terminal itself, and through npm. */
const SAME_SIGNAL_MS = 1_000;

/** @param source the process; an argument so that a test can send the signals. */
export function onStopSignals(source: EventEmitter, { stop, end, nowMs }: StopActions): void {
  let firstAtMs: number | undefined;
  const take = (): void => {
    if (firstAtMs === undefined) {
      firstAtMs = nowMs();
      stop();
    } else if (nowMs() - firstAtMs > SAME_SIGNAL_MS) end();
  };
  for (const signal of SIGNALS) source.on(signal, take);
}
