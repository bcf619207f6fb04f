import type { ErrorCode } from '@gateway/contracts/error-codes';
import type { GatewayError } from '@gateway/contracts/gateway-error';
import { lookUp } from '@gateway/contracts/look-up';
import { type CleanText, upstreamError } from './public-message.ts';

/** What an OpenAI error code means to us when it comes in the middle of an answer. */
const CODE_OF_CODE: Record<string, ErrorCode> = {
  rate_limit_exceeded: 'upstream_rate_limited',
  insufficient_quota: 'upstream_quota_exhausted',
  usage_not_included: 'upstream_quota_exhausted',
  server_is_overloaded: 'upstream_overloaded',
  slow_down: 'upstream_overloaded',
  context_length_exceeded: 'context_length_exceeded',
  exceed_context_size_error: 'context_length_exceeded',
  invalid_prompt: 'upstream_rejected',
  bio_policy: 'upstream_rejected',
  cyber_policy: 'upstream_rejected',
  misalignment_policy_violation: 'upstream_rejected',
  data_residency_mismatch: 'upstream_misconfigured',
  invalid_api_key: 'upstream_misconfigured',
  vector_store_timeout: 'upstream_timeout',
};

/** Codes that begin so concern an image of the caller's. */
const IMAGE_CODE = /image/;

/** Whether a code is more specific than that something failed. */
export const isKnownCode = (word: string): boolean => Object.hasOwn(CODE_OF_CODE, word);

interface OpenAiError {
  readonly code?: string | number | null | undefined;
  readonly message?: string | null | undefined;
}

/** An error object of OpenAI's protocols, from a failed response or from the middle of a stream. */
export function decodeOpenAiError(error: OpenAiError | null | undefined, clean: CleanText): GatewayError {
  const word = String(error?.code ?? '');
  const code =
    lookUp(CODE_OF_CODE, word) ?? (IMAGE_CODE.test(word) ? 'upstream_rejected' : 'upstream_failed');
  return upstreamError(code, error?.message ?? '', clean);
}
