import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Target } from '../conversation/target.ts';
import { formatPath } from '../wire/path.ts';

/** A refusal that the caller neither caused nor can avoid, and what to change so that it does not come again. */
export interface RetryRule {
  readonly isFor: (error: GatewayError) => boolean;
  readonly amend: (target: Target) => Target;
}

/** OpenAI's words for content of another organisation, Anthropic's for a signature that is not its own. */
const NOT_ITS_OWN =
  /encrypted content\b.*\bcould not be (?:verified|decrypted)|invalid_encrypted_content|invalid `?signature`? in `?thinking/is;
/** OpenAI's answer to an organisation that it has not verified. */
const NO_SUMMARY = /verified to generate reasoning summaries/i;

const RETRY_RULES: readonly RetryRule[] = [
  {
    // Sealed by the same vendor, but the channel's credentials have changed since.
    isFor: ({ message }) => NOT_ITS_OWN.test(message),
    amend: (target) => ({ ...target, withholdReasoning: true }),
  },
  {
    isFor: ({ message, options }) =>
      NO_SUMMARY.test(message) || formatPath(options.path ?? []) === 'reasoning.summary',
    amend: (target) => ({ ...target, quirks: { ...target.quirks, reasoningSummary: false } }),
  },
];

/** The rule by which a refused request may succeed; null where none is left. Each is applied once to a request. */
export function retryRuleFor(refusal: unknown, applied: readonly RetryRule[]): RetryRule | null {
  if (!(refusal instanceof GatewayError) || refusal.code !== 'upstream_rejected') return null;
  return RETRY_RULES.find((rule) => rule.isFor(refusal) && !applied.includes(rule)) ?? null;
}

export const amendedTarget = (target: Target, rules: readonly RetryRule[]): Target =>
  rules.reduce((amended, { amend }) => amend(amended), target);
