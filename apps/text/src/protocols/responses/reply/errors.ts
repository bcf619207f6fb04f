import type { GatewayError } from '@gateway/contracts/gateway-error';
import { openaiError } from '@gateway/service-kit/error-response';
import { type JsonObject, textAt } from '../../../wire/json-object.ts';

/** Codes that a broken response may have, beside those of an image; its clients know no others there. */
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

/** An error that the upstream has shown in the same member. */
export const reportedError = (error: JsonObject): ShownError => ({
  type: textAt(error, 'type') ?? FALLBACK_CODE,
  code: textAt(error, 'code') ?? FALLBACK_CODE,
  message: textAt(error, 'message') ?? 'The upstream reported an error.',
  param: textAt(error, 'param'),
});
