import { Quirks, type QuirksInput } from '@gateway/contracts/quirks';
import type { ConversationProtocol } from '@gateway/upstream/protocol';
import { vendorOf } from '../call/candidates/target-of.ts';
import type { ReplyContext, Target } from '../neutral/target.ts';
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

export const testTarget = (
  protocol: ConversationProtocol,
  quirks: QuirksInput = {},
  more: Partial<Target> = {},
): Target => {
  const all = Quirks.parse(quirks);
  return {
    protocol,
    model: `upstream-${protocol}`,
    vendor: vendorOf(protocol, all),
    scope: 'our-organisation',
    quirks: all,
    maxOutputTokens: 32_000,
    builtInTools: 'any',
    ...more,
  };
};
