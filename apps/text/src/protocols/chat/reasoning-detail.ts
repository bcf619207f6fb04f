import type { OpaquePayload } from '../conversation/parts.ts';
import { sealPayload } from '../conversation/sealed-reasoning.ts';
import type { OpaqueTokens } from '../opaque-token.ts';

/**
 * Sealed reasoning as an entry of `reasoning_details`, the member in which chat-compatible servers show it and take it
 * back. Null for plain traces, which have no seal.
 */
export function reasoningDetail(
  payload: OpaquePayload | undefined,
  texts: readonly string[],
  tokens: OpaqueTokens,
): object | null {
  if (payload === undefined) return null;
  const text = texts.join('\n\n');
  const seal = sealPayload(tokens, payload, texts.length > 1 ? texts : undefined);
  return text === ''
    ? { type: 'reasoning.encrypted', data: seal }
    : { type: 'reasoning.text', text, signature: seal };
}
