import { sealPayload } from '../../../conversation/encoding/sealed-reasoning.ts';
import type { OpaquePayload } from '../../../conversation/parts.ts';
import type { OpaqueTokens } from '../../../wire/tokens/opaque-token.ts';

const isNative = (payload: OpaquePayload): boolean =>
  payload.vendor === 'anthropic' && (payload.kind === 'signature' || payload.kind === 'redacted');

/**
 * The signature under shown thinking: Claude's own, else a token that remembers whose reasoning it is. The parts of a
 * summary are kept in it, since a thinking block shows them as one text.
 */
export const thinkingSignature = (
  payload: OpaquePayload | undefined,
  texts: readonly string[],
  form: 'summary' | 'trace',
  tokens: OpaqueTokens,
): string => {
  if (payload !== undefined && isNative(payload)) return payload.data;
  const unsealed: OpaquePayload =
    form === 'trace'
      ? { vendor: 'open', kind: 'trace', data: '' }
      : { vendor: 'openai', kind: 'trace', data: '' };
  return sealPayload(tokens, payload ?? unsealed, texts.length > 1 ? texts : undefined);
};

/** The block of reasoning that shows no text; null where there is nothing to keep either. */
export function hiddenBlock(payload: OpaquePayload | undefined, tokens: OpaqueTokens): object | null {
  if (payload === undefined) return null;
  if (!isNative(payload)) return { type: 'redacted_thinking', data: sealPayload(tokens, payload) };
  return payload.kind === 'redacted'
    ? { type: 'redacted_thinking', data: payload.data }
    : { type: 'thinking', thinking: '', signature: payload.data };
}
