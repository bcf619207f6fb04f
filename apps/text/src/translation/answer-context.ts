import { randomUUID } from 'node:crypto';
import type { Candidate } from '@gateway/upstream/catalog';
import { cleanMessage } from '@gateway/upstream/clean-message';
import type { Surroundings } from '../conversation/target.ts';
import type { OpaqueTokens } from '../wire/opaque-token.ts';

const MS_PER_SECOND = 1000;

/** Randomness, time and secrets for the answer of one candidate. */
export const answerContextOf = (
  candidate: Candidate,
  tokens: OpaqueTokens,
  requestId: string,
): Surroundings => ({
  requestId,
  mintId: (prefix) => prefix + randomUUID().replaceAll('-', ''),
  nowSeconds: () => Math.floor(Date.now() / MS_PER_SECOND),
  tokens,
  cleanText: (text) => cleanMessage(text, candidate),
});
