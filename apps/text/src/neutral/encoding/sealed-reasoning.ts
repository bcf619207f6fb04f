import type { Path } from '../../wire/path.ts';
import type { OpaqueTokens } from '../../wire/tokens/opaque-token.ts';
import type { OpaquePayload, ReasoningPart } from '../parts.ts';

/**
 * Reads reasoning from the history. Its seal is either the payload of the protocol's own vendor or a token of ours,
 * which restores what another vendor made. A token that does not verify leaves no payload.
 */
export function openReasoning(
  shown: { readonly texts: readonly string[]; readonly form: ReasoningPart['form']; readonly at: Path },
  seal: string | null | undefined,
  native: Pick<OpaquePayload, 'vendor' | 'kind'>,
  tokens: OpaqueTokens,
): ReasoningPart {
  const plain: ReasoningPart = { type: 'reasoning', ...shown };
  if (seal === null || seal === undefined || seal === '') return plain;
  const content = tokens.open(seal);
  if (content === 'broken') return plain;
  if (content === 'foreign') return { ...plain, payload: { ...native, data: seal } };
  const { texts = shown.texts, ...payload } = content;
  return { ...plain, texts, form: payload.kind === 'trace' ? 'trace' : 'summary', payload };
}

/** A payload as a token; `texts` only where the client's protocol cannot give them back as they were. */
export const sealPayload = (
  tokens: OpaqueTokens,
  { vendor, scope, kind, data, place }: OpaquePayload,
  texts?: readonly string[],
): string =>
  tokens.seal({
    vendor,
    kind,
    data,
    ...(scope !== undefined && { scope }),
    ...(place !== undefined && { place }),
    ...(texts !== undefined && { texts: [...texts] }),
  });
