import type { ErrorCode } from '@gateway/contracts/error-codes';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { tooLongForMessages } from '@gateway/upstream/failures/too-long';

/** Takes a channel's secrets and addresses out of an upstream's sentence. */
export type CleanText = (text: string) => string;

/** Conditions that are between the gateway and its provider: the provider's wording is not for callers. */
const FIXED: Partial<Record<ErrorCode, string>> = {
  upstream_misconfigured: 'The upstream refused the gateway. Its operator has to look at the configuration.',
  upstream_quota_exhausted: 'The upstream is not available at the moment.',
};

const DEFAULTS: Partial<Record<ErrorCode, string>> = {
  upstream_rejected: 'The upstream refused this request.',
  upstream_rate_limited: "The upstream's rate limit for this model is reached.",
  upstream_overloaded: 'The upstream is overloaded at the moment. Please try again shortly.',
  upstream_timeout: 'The upstream did not answer in time.',
  context_length_exceeded: 'The input is longer than the context of the model.',
};

const FAILED = 'The upstream failed while it was answering.';

const MAX_LENGTH = 2000;

/** An error that an upstream reported in the middle of its answer, as a caller may see it. */
export function upstreamError(code: ErrorCode, message: string, clean: CleanText): GatewayError {
  const shown = message.trim() === '' ? (DEFAULTS[code] ?? FAILED) : clean(message).slice(0, MAX_LENGTH);
  // Clients of each dialect shorten their conversation by its own words.
  const told =
    code === 'context_length_exceeded'
      ? { openai: shown, anthropic: tooLongForMessages({ message, tokens: null }, shown) }
      : (FIXED[code] ?? shown);
  return new GatewayError(code, { message: told, source: 'upstream' });
}
