import type { AnswerUsage } from './answer/answer.ts';
import type { LedgerEntry } from './ledger.ts';

/** A text answer's usage as the ledger keeps it. */
export const tokenLedgerEntry = (model: string, usage: AnswerUsage): LedgerEntry => ({
  model,
  inputTokens: usage.inputTokens,
  cachedInputTokens: usage.cachedTokens,
  cacheWriteTokens: usage.cacheWriteTokens,
  outputTokens: usage.outputTokens,
  reasoningTokens: usage.reasoningTokens,
});
