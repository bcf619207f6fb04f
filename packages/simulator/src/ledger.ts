import type { AnswerUsage } from './answer/answer.ts';

/** One answered request's consumption. */
export interface LedgerEntry {
  readonly model: string;
  readonly inputTokens?: number;
  readonly cachedInputTokens?: number;
  readonly cacheWriteTokens?: number;
  readonly outputTokens?: number;
  readonly reasoningTokens?: number;
  readonly images?: number;
  readonly characters?: number;
  readonly audioSeconds?: number;
  readonly searches?: number;
}

const COUNTED = [
  'inputTokens',
  'cachedInputTokens',
  'cacheWriteTokens',
  'outputTokens',
  'reasoningTokens',
  'images',
  'characters',
  'audioSeconds',
  'searches',
] as const;

/**
 * One model's totals. `requests` were answered completely and only they add to the other figures; `broken` ended
 * early (fault or leaving client). `inputTokens` include cached ones and cache writes, `outputTokens` reasoning.
 */
export type LedgerRow = Record<(typeof COUNTED)[number], number> & { requests: number; broken: number };

export interface Ledger {
  add(entry: LedgerEntry): void;
  addBroken(model: string): void;
  rows(): Readonly<Record<string, LedgerRow>>;
  clear(): void;
}

const emptyRow = (): LedgerRow => ({
  requests: 0,
  broken: 0,
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  images: 0,
  characters: 0,
  audioSeconds: 0,
  searches: 0,
});

const MAX_MODELS = 1000;

/** Running totals per model of this provider's answers, as on its invoice. */
export const createLedger = (): Ledger => {
  const rows = new Map<string, LedgerRow>();
  const rowOf = (model: string): LedgerRow => {
    const name = rows.has(model) || rows.size < MAX_MODELS ? model : '(other models)';
    const row = rows.get(name) ?? emptyRow();
    rows.set(name, row);
    return row;
  };
  return {
    add: (entry) => {
      const row = rowOf(entry.model);
      row.requests += 1;
      for (const name of COUNTED) row[name] += entry[name] ?? 0;
    },
    addBroken: (model) => {
      rowOf(model).broken += 1;
    },
    rows: () => Object.fromEntries(rows),
    clear: () => rows.clear(),
  };
};

/** A text answer's usage, for the ledger. */
export const tokenLedgerEntry = (model: string, usage: AnswerUsage): LedgerEntry => ({
  model,
  inputTokens: usage.inputTokens,
  cachedInputTokens: usage.cachedTokens,
  cacheWriteTokens: usage.cacheWriteTokens,
  outputTokens: usage.outputTokens,
  reasoningTokens: usage.reasoningTokens,
});
