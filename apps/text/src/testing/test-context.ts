import { Quirks, type QuirksInput } from '@gateway/contracts/quirks';
import type { ReplyContext, Target } from '../neutral/target.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';
import { createTokenSeals } from '../wire/tokens/opaque-token.ts';

/** What tests give instead of randomness and time: ids that count, and one moment. */
export function testReplyContext(): ReplyContext {
  let minted = 0;
  return {
    mintId: (prefix) => {
      minted += 1;
      return `${prefix}${String(minted).padStart(4, '0')}`;
    },
    nowSeconds: () => 1_795_000_000,
    tokens: testTokens,
    cleanText: (text) => text.replaceAll('sk-secret', '[removed]'),
  };
}

export const testTokens = createTokenSeals('a secret for tests only').ownedBy(['a-key']);

const VENDORS = { responses: 'openai', messages: 'anthropic', chat: 'open' } as const;

export const testTarget = (
  protocol: TextProtocol,
  quirks: QuirksInput = {},
  more: Partial<Target> = {},
): Target => ({
  protocol,
  model: `upstream-${protocol}`,
  vendor: VENDORS[protocol],
  scope: 'our-organisation',
  quirks: Quirks.parse(quirks),
  maxOutputTokens: 32_000,
  builtInTools: 'any',
  ...more,
});
