import type { Price } from '@gateway/contracts/models/price';
import type { ToolCalls } from '@gateway/contracts/usage/usage-record';

/** How often a request lets its provider call built-in tools. */
export interface ToolBounds {
  /** The most calls of each tool; infinite where the request does not bound them. */
  readonly calls: Readonly<Record<string, number>>;
  /** Which tools there are is not known: any may be called so often. 0: there are no others. */
  readonly othersCalls: number;
  /** The most calls of all together; infinite where the request does not bound them. */
  readonly total: number;
}

/**
 * The calls that cost the most within a request's bounds, of tools that have a price.
 *
 * @param unbounded what is assumed where the request has no bound; 0 leaves such tools out
 */
export function mostToolCalls(
  { perThousandToolCalls = {} }: Price,
  { calls, othersCalls, total }: ToolBounds,
  unbounded: number,
): ToolCalls {
  const priced = Object.entries(perThousandToolCalls).toSorted(([, one], [, other]) => other - one);
  let left = total;
  const most: Record<string, number> = {};
  for (const [tool, usd] of priced) {
    const own = Object.hasOwn(calls, tool) ? (calls[tool] ?? 0) : othersCalls;
    const bound = Math.min(own, left);
    const count = bound === Number.POSITIVE_INFINITY ? unbounded : bound;
    if (usd === 0 || count === 0) continue;
    most[tool] = count;
    left -= count;
  }
  return most;
}
