import { sealPayload } from '../../../conversation/encoding/sealed-reasoning.ts';
import type { OpaquePayload } from '../../../conversation/parts.ts';
import type { OpaqueTokens } from '../../../wire/tokens/opaque-token.ts';

/**
 * Sealed reasoning as an entry of `reasoning_details`, the member in which chat-compatible servers show it and take it
 * back. Its text is in the token: chat shows all reasoning as one text, which cannot be taken apart again. Null for
 * plain traces, which have no seal.
 */
export const reasoningDetail = (
  payload: OpaquePayload | undefined,
  texts: readonly string[],
  tokens: OpaqueTokens,
): object | null =>
  payload === undefined
    ? null
    : {
        type: 'reasoning.encrypted',
        data: sealPayload(
          tokens,
          payload,
          texts.filter((text) => text !== ''),
        ),
      };
