import { reportedCount } from '@gateway/contracts/usage/reported-count';
import { isObject } from '../../../wire/json-object.ts';
import { atTier, type Usage } from '../../../wire/usage.ts';
import { readReport, type UsagePlaces } from '../../../wire/usage-places.ts';

/** `inputTokens` excludes what was read from and written to the cache. Reasoning is part of the output, and not told apart. */
const PLACES: UsagePlaces = {
  input: [['inputTokens']],
  cached: [['cacheReadInputTokens'], ['cacheReadInputTokenCount']],
  cacheWrite: [['cacheWriteInputTokens'], ['cacheWriteInputTokenCount']],
  cacheWrite1h: [['cacheWrite1hInputTokens']],
  output: [['outputTokens']],
  reasoning: [],
  total: [],
  audioSeconds: [],
};

/** The usage and the tier that a reply, or the last event of a stream, reports; null where it reports none. */
export function readUsage({ usage, serviceTier }: { readonly [member: string]: unknown }): Usage | null {
  if (!isObject(usage)) return null;
  const counts = { ...usage, cacheWrite1hInputTokens: writtenForAnHour(usage.cacheDetails) };
  const read = readReport(counts, PLACES, { excludesCache: true });
  return atTier(read, isObject(serviceTier) ? serviceTier.type : undefined);
}

const writtenForAnHour = (details: unknown): number =>
  (Array.isArray(details) ? details : [])
    .filter(isObject)
    .filter(({ ttl }) => ttl === '1h')
    .reduce((sum, { inputTokens }) => sum + reportedCount(inputTokens), 0);

const TIERS: ReadonlySet<unknown> = new Set(['default', 'priority', 'flex']);

/** The tier in the words of callers. Capacity that was reserved is like any other for them. */
export function decodeTier(serviceTier: unknown): string | undefined {
  const type = isObject(serviceTier) ? serviceTier.type : undefined;
  if (typeof type !== 'string') return undefined;
  return TIERS.has(type) ? type : 'default';
}
