import type { AnswerUsage } from './answer/answer.ts';
import type { LedgerEntry } from './ledger.ts';

/** A text answer's usage, for the ledger. */
export const tokenLedgerEntry = (model: string, usage: AnswerUsage): LedgerEntry => ({
  model,
  inputTokens: usage.inputTokens,
  cachedInputTokens: usage.cachedTokens,
  cacheWriteTokens: usage.cacheWriteTokens,
  outputTokens: usage.outputTokens,
  reasoningTokens: usage.reasoningTokens,
});
