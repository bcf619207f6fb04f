import type { ErrorCode } from '@gateway/contracts/error-codes';
import type { GatewayError } from '@gateway/contracts/gateway-error';
import { lookUp } from '@gateway/contracts/look-up';
import { openaiError } from '@gateway/service-kit/error-response';
import { type JsonObject, textAt } from '../../json-object.ts';
import { type CleanText, upstreamError } from '../conversation/public-message.ts';

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

/** Whether a code says more than that something failed. */
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

/** Codes that a broken response may carry, beside those of an image; its clients know no others there. */
const SHOWN_CODES: ReadonlySet<string> = new Set([
  'rate_limit_exceeded',
  'server_is_overloaded',
  'slow_down',
  'context_length_exceeded',
  'insufficient_quota',
  'invalid_prompt',
]);
/** OpenAI's own word for what went wrong without a name; Codex and the official clients know it. */
const FALLBACK_CODE = 'server_error';

export interface ShownError {
  readonly type: string;
  readonly code: string;
  readonly message: string;
  readonly param: string | null;
}

/** An error as the events of a broken response show it: with the members that both of OpenAI's published shapes have. */
export function encodeOpenAiError(error: GatewayError): ShownError {
  const { type, code, message, param } = openaiError(error);
  return { type, code: code !== null && SHOWN_CODES.has(code) ? code : FALLBACK_CODE, message, param };
}

/** An error that the upstream has shown in the same place. */
export const reportedError = (error: JsonObject): ShownError => ({
  type: textAt(error, 'type') ?? FALLBACK_CODE,
  code: textAt(error, 'code') ?? FALLBACK_CODE,
  message: textAt(error, 'message') ?? 'The upstream reported an error.',
  param: textAt(error, 'param'),
});
