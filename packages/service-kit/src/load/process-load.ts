import { monitorEventLoopDelay } from 'node:perf_hooks';

/** What all parts of a process share: its memory and its event loop. */
export interface ProcessLoad {
  /** Requests of all its services that are in flight. */
  requests: number;
  /** Bytes of request bodies that are held in memory. */
  bodyBytes: number;
  /** How late the event loop is, in milliseconds: the median of the last half second or more. Call it only while there is work. */
  eventLoopDelayMs(): number;
  /** Ends the measurement until it is read again: an idle process does not wake up for it. */
  rest(): void;
}

/** How often the delay is sampled. An event loop with nothing to do is as late as that by the histogram's own reckoning. */
const RESOLUTION_MS = 20;
const WINDOW_MS = 500;
const NS_PER_MS = 1e6;

/**
 * The median, not the mean: one long pause, such as reading a body of 30 MB, is a single sample; a loop that is late at every
 * turn is not.
 */
export function createProcessLoad(): ProcessLoad {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  let windowStartMs: number | undefined;
  let delayMs = 0;

  return {
    requests: 0,
    bodyBytes: 0,
    eventLoopDelayMs: () => {
      const nowMs = performance.now();
      if (windowStartMs === undefined) histogram.enable();
      windowStartMs ??= nowMs;
      if (nowMs - windowStartMs < WINDOW_MS || histogram.count === 0) return delayMs;
      delayMs = Math.max(0, histogram.percentile(50) / NS_PER_MS - RESOLUTION_MS);
      histogram.reset();
      windowStartMs = nowMs;
      return delayMs;
    },
    rest: () => {
      if (windowStartMs === undefined) return;
      histogram.disable();
      histogram.reset();
      windowStartMs = undefined;
      delayMs = 0;
    },
  };
}
