/** Tokens of one answer, all integers. Input includes what was read from and written to a cache; output includes reasoning. */
export interface Usage {
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  readonly webSearches: number;
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

/** What several requests for one answer cost together. */
export const addUsage = (a: Usage, b: Usage): Usage => ({
  inputTokens: a.inputTokens + b.inputTokens,
  cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens,
  cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
  outputTokens: a.outputTokens + b.outputTokens,
  reasoningTokens: a.reasoningTokens + b.reasoningTokens,
  webSearches: a.webSearches + b.webSearches,
  reported: a.reported || b.reported,
});

/** A count of an upstream's. Absent or null is zero; what is no whole number that JavaScript holds exactly is NaN. */
export const tokenCount = (value: unknown): number => {
  if (value === null || value === undefined) return 0;
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : Number.NaN;
};

/** The usage that these counts are; null where one of them is no count: a report that is wrong in part is no report. */
export const usageOf = (counts: Omit<Usage, 'reported' | 'serviceTier'>): Usage | null =>
  Object.values(counts).every(Number.isSafeInteger) ? { ...counts, reported: true } : null;

/** The same usage with the tier that the upstream named beside it. */
export const atTier = (usage: Usage | null, serviceTier: unknown): Usage | null =>
  usage !== null && typeof serviceTier === 'string' ? { ...usage, serviceTier } : usage;
