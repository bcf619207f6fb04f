import type { ShownRequest } from '../../api/types.ts';
import { milliseconds, wholeNumber } from '../../parts/numbers.ts';

/** What a request used, by kind; input and output always, since a zero says something there. */
export function usedOf({ consumption }: ShownRequest): (readonly [string, string])[] {
  const { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens } = consumption;
  const { images, characters, audioSeconds } = consumption;
  const counts: (readonly [string, number])[] = [
    ['Input tokens', inputTokens],
    ['of them from the cache', cachedInputTokens],
    ['of them written to the cache', cacheWriteTokens],
    ['Output tokens', outputTokens],
    ['of them reasoning', reasoningTokens],
    ['Images', images],
    ['Characters', characters],
  ];
  const shown = counts
    .filter(([, count]) => count > 0)
    .map(([name, count]) => [name, wholeNumber(count)] as const);
  const all = audioSeconds > 0 ? [...shown, ['Audio', milliseconds(audioSeconds * 1000)] as const] : shown;
  return all.length === 0 ? [['Tokens', 'none']] : all;
}
