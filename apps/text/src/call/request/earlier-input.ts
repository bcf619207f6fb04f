import { readUsage } from '../../protocols/responses/reply/usage.ts';
import type { JsonObject } from '../../wire/json-object.ts';
import type { History } from './history.ts';
import { unsizedTokensOf } from './unsized-input.ts';

/** The tokens of all that led to a response, and of its output, as its provider reported them; 0: not known. */
export function contextTokens(response: JsonObject): number {
  const usage = readUsage(response);
  return usage === null ? 0 : usage.inputTokens + usage.outputTokens;
}

/**
 * The most tokens of what a request continues and names by ids, beyond what its bytes tell: it may hold files. Infinite: as many
 * as the model takes.
 */
export function unsizedHistory({ isWhole, continued, items }: History): number {
  if (!isWhole) return Number.POSITIVE_INFINITY;
  const named = [...items.values()].map(({ json }) => unsizedTokensOf(String(json)));
  return named.reduce((sum, tokens) => sum + tokens, continued?.tokens ?? 0);
}
