import type { ToolCalls } from '@gateway/contracts/usage/usage-record';

/** Tokens of one answer, all integers. Input includes what was read from and written to a cache; output includes reasoning. */
export interface Usage {
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly cacheWriteTokens: number;
  /** Those of them that are kept for an hour; absent: none. */
  readonly cacheWrite1hTokens?: number | undefined;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  readonly webSearches: number;
  /** Calls of other tools that the provider runs, by the tool's family; absent: none. */
  readonly otherCalls?: ToolCalls | undefined;
  /** Of sound that a provider counts in time; absent: none. */
  readonly audioMs?: number;
  /** False while the upstream has reported nothing: the numbers are then zeros or an estimate. */
  readonly reported: boolean;
  /** The tier at which the upstream served the request, in its own words; it decides the price. */
  readonly serviceTier?: string | undefined;
}

export const NO_USAGE: Usage = {
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  webSearches: 0,
  reported: false,
};

type Counts = Omit<Usage, 'reported' | 'serviceTier'>;
type Joining = (a: number, b: number) => number;

function joined(a: Usage, b: Usage, join: Joining): Usage {
  const hour = join(a.cacheWrite1hTokens ?? 0, b.cacheWrite1hTokens ?? 0);
  const audioMs = join(a.audioMs ?? 0, b.audioMs ?? 0);
  const otherCalls = a.otherCalls || b.otherCalls ? joinedCalls(a.otherCalls, b.otherCalls, join) : null;
  const serviceTier = b.serviceTier ?? a.serviceTier;
  return {
    inputTokens: join(a.inputTokens, b.inputTokens),
    cachedInputTokens: join(a.cachedInputTokens, b.cachedInputTokens),
    cacheWriteTokens: join(a.cacheWriteTokens, b.cacheWriteTokens),
    ...(hour > 0 && { cacheWrite1hTokens: hour }),
    outputTokens: join(a.outputTokens, b.outputTokens),
    reasoningTokens: join(a.reasoningTokens, b.reasoningTokens),
    webSearches: join(a.webSearches, b.webSearches),
    ...(otherCalls !== null && { otherCalls }),
    ...(audioMs > 0 && { audioMs }),
    reported: a.reported || b.reported,
    ...(serviceTier !== undefined && { serviceTier }),
  };
}

function joinedCalls(a: ToolCalls = {}, b: ToolCalls = {}, join: Joining): ToolCalls {
  const tools = new Set([...Object.keys(a), ...Object.keys(b)]);
  return Object.fromEntries([...tools].map((tool) => [tool, join(a[tool] ?? 0, b[tool] ?? 0)]));
}

/** What several requests for one answer cost together; the last one's tier. */
export const addUsage = (a: Usage, b: Usage): Usage => joined(a, b, (one, other) => one + other);

/** Two reports of one answer: counters are cumulative, so a later one is never smaller. */
export const laterUsage = (earlier: Usage | null, later: Usage | null): Usage | null =>
  earlier === null || later === null ? (later ?? earlier) : joined(earlier, later, Math.max);

/** The usage that these counts are. No part is larger than what it is a part of. */
export function usageOf(counts: Counts): Usage {
  const { inputTokens, outputTokens, cacheWrite1hTokens = 0, audioMs = 0 } = counts;
  const cachedInputTokens = Math.min(counts.cachedInputTokens, inputTokens);
  const cacheWriteTokens = Math.min(counts.cacheWriteTokens, inputTokens - cachedInputTokens);
  const hour = Math.min(cacheWrite1hTokens, cacheWriteTokens);
  return {
    inputTokens,
    cachedInputTokens,
    cacheWriteTokens,
    ...(hour > 0 && { cacheWrite1hTokens: hour }),
    outputTokens,
    reasoningTokens: Math.min(counts.reasoningTokens, outputTokens),
    webSearches: counts.webSearches,
    ...(counts.otherCalls && { otherCalls: counts.otherCalls }),
    ...(audioMs > 0 && { audioMs }),
    reported: true,
  };
}

/** The same usage with the tier that the upstream named beside it. */
export function atTier(usage: Usage, serviceTier: unknown): Usage;
export function atTier(usage: Usage | null, serviceTier: unknown): Usage | null;
export function atTier(usage: Usage | null, serviceTier: unknown): Usage | null {
  return usage !== null && typeof serviceTier === 'string' ? { ...usage, serviceTier } : usage;
}
