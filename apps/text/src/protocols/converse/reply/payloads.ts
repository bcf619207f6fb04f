import type { OpaquePayload } from '../../../neutral/parts.ts';
import { acceptsPayload, type Target } from '../../../neutral/target.ts';

/** What may stand before the maker in a model's id: where its requests may be served. */
const PLACES = /^(?:global|us-gov|us|eu|apac|jp|au|in|ca|sa|me|af)\./;

/**
 * Whose sealed reasoning a model takes, beside its vendor: the maker's in its id (`amazon` of `eu.amazon.nova-2-lite-v1:0`). An
 * ARN hides its maker, so that what it sealed goes back to the same ARN only.
 */
function scopeOf({ model }: Target): string {
  const [maker = ''] = model.startsWith('arn:') ? [model] : model.replace(PLACES, '').split('.');
  return `bedrock ${maker}`;
}

/**
 * What this upstream has sealed. Claude's signatures hold at every provider of Claude. Hidden reasoning is bytes here, which no
 * other protocol has in this form.
 */
export const ownPayload = (kind: 'signature' | 'redacted', data: string, target: Target): OpaquePayload => ({
  vendor: target.vendor,
  kind,
  data,
  ...((kind === 'redacted' || target.vendor !== 'anthropic') && { scope: scopeOf(target) }),
});

/** Whether this upstream may be shown a payload. */
export const takesPayload = (target: Target, payload: OpaquePayload): boolean =>
  acceptsPayload({ ...target, scope: scopeOf(target) }, payload) &&
  (payload.kind === 'signature' || (payload.kind === 'redacted' && payload.scope !== undefined));
