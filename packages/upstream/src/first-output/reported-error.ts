import { meansFailure } from '@gateway/contracts/finish-words';
import { isObject, type JsonObject } from '@gateway/contracts/json/json-object';
import { lookUp } from '@gateway/contracts/look-up';
import { readProviderError } from '../failures/provider-error.ts';

/** An error in a 2xx reply: treated as if the provider had answered with this status and body. */
export interface Disguised {
  readonly status: number;
  readonly body: string;
}

/** The status that an error type or code would have had outside a stream. */
const STATUS_OF: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  invalid_prompt: 400,
  context_length_exceeded: 400,
  exceed_context_size_error: 400,
  image_generation_user_error: 400,
  BadRequestError: 400,
  authentication_error: 401,
  invalid_api_key: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  insufficient_quota: 429,
  requests: 429,
  tokens: 429,
  timeout_error: 504,
  overloaded_error: 529,
  server_is_overloaded: 503,
  slow_down: 503,
  service_unavailable_error: 503,
  content_filter: 400,
  content_policy_violation: 400,
  // Kimi.
  invalid_authentication_error: 401,
  incorrect_api_key_error: 401,
  permission_denied_error: 403,
  exceeded_current_quota_error: 429,
  rate_limit_reached_error: 429,
  engine_overloaded_error: 503,
  // vLLM, SGLang and LiteLLM, by the names of Python's clients.
  AuthenticationError: 401,
  PermissionDeniedError: 403,
  NotFoundError: 404,
  UnprocessableEntityError: 422,
  RateLimitError: 429,
  ServiceUnavailableError: 503,
  APITimeoutError: 504,
  // Bedrock.
  ValidationException: 400,
  validationException: 400,
  AccessDeniedException: 403,
  ThrottlingException: 429,
  throttlingException: 429,
  ServiceUnavailableException: 503,
  serviceUnavailableException: 503,
  ModelNotReadyException: 503,
  UnknownOperationException: 404,
  ModelTimeoutException: 504,
  modelTimeoutException: 504,
  // Google.
  INVALID_ARGUMENT: 400,
  FAILED_PRECONDITION: 400,
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  NOT_FOUND: 404,
  RESOURCE_EXHAUSTED: 429,
  UNAVAILABLE: 503,
  DEADLINE_EXCEEDED: 504,
  // Qwen.
  InvalidParameter: 400,
  data_inspection_failed: 400,
  DataInspectionFailed: 400,
  Throttling: 429,
  'Throttling.RateQuota': 429,
  'Throttling.AllocationQuota': 429,
  Arrearage: 402,
  // Z.ai.
  '1113': 402,
  '1210': 400,
  '1214': 400,
  '1261': 400,
  '1301': 400,
  '1302': 429,
  '1303': 429,
  '1304': 429,
  '1305': 429,
  '1308': 429,
  '1312': 429,
  // MiniMax.
  'base_resp 1001': 504,
  'base_resp 1002': 429,
  'base_resp 1004': 401,
  'base_resp 1008': 402,
  'base_resp 1026': 400,
  'base_resp 1027': 400,
  'base_resp 1039': 400,
  'base_resp 1041': 429,
  'base_resp 2013': 400,
  'base_resp 2045': 429,
  'base_resp 2049': 401,
  'base_resp 2056': 429,
};

/** vLLM, llama.cpp and others send the status itself. */
const STATUS_CODE = /^[45]\d\d$/;

/** The error that a body reports, with the status that it would have had outside a stream. */
export const disguised = (body: string): Disguised => {
  const { code, type } = readProviderError(body);
  const ownStatus = lookUp(STATUS_OF, code) ?? lookUp(STATUS_OF, type);
  const status = ownStatus ?? (STATUS_CODE.test(code ?? '') ? Number(code) : 502);
  return { status, body };
};

/** Whether what stands below `error` is one; some servers send an empty one beside an answer. */
function isError(error: unknown): boolean {
  if (!isObject(error)) return typeof error === 'string' && error !== '';
  return [error.message, error.type, error.code].some(
    (word) => (typeof word === 'string' && word !== '') || (typeof word === 'number' && word !== 0),
  );
}

/** Whether one of a completion's choices, or of Gemini's candidates, is no answer: by its own error, or by how it ended. */
const choiceFailed = (choice: unknown): boolean =>
  isObject(choice) &&
  (isError(choice.error) || meansFailure(choice.finish_reason) || meansFailure(choice.finishReason));

/** JsonObject of which every answer, and every piece of one, has one at least. */
const ANSWERS = ['choices', 'output', 'content', 'delta', 'data', 'usage', 'input_tokens'] as const;

/**
 * Whether a reply or an event of it, under whatever status and name, reports that it failed. Servers say so in their own
 * frame of JSON as often as in the protocol's.
 */
export function reportsFailure(reply: unknown): boolean {
  if (!isObject(reply)) return false;
  const { error, object, type, status, response, base_resp: base, messageStop, Output: output } = reply;
  if (isError(error) || object === 'error' || type === 'error' || status === 'failed') return true;
  if (isObject(output) && typeof output.__type === 'string') return true;
  if (isObject(base) && typeof base.status_code === 'number' && base.status_code !== 0) return true;
  if (isObject(response) && (isError(response.error) || response.status === 'failed')) return true;
  const choices = reply.choices ?? reply.candidates;
  if (Array.isArray(choices) && choices.some(choiceFailed)) return true;
  if (meansFailure(reply.stop_reason) || meansFailure(reply.stopReason)) return true;
  if (isObject(messageStop) && meansFailure(messageStop.stopReason)) return true;
  return saysNothingElse(reply);
}

/** Codes under which servers report that all went well. */
const GOOD_CODES: ReadonlySet<unknown> = new Set([0, '0', 200, '200', 'success', null]);

/** JsonObject by which answers and events of every protocol are known. */
const NAMES = ['type', 'object', 'id'] as const;

/** A message about what went wrong, where the answer would be. */
function saysNothingElse(reply: JsonObject): boolean {
  const { code, status_code, statusCode, message, msg, detail, error, errors, success } = reply;
  if (isObject(message) || ANSWERS.some((name) => (reply[name] ?? null) !== null)) return false;
  if (
    error === true ||
    (detail ?? null) !== null ||
    success === false ||
    (Array.isArray(errors) && errors.length > 0)
  )
    return true;
  if (typeof message !== 'string' && typeof msg !== 'string') return false;
  const given = code ?? status_code ?? statusCode;
  // Without a code it is a failure where nothing says what else it could be.
  return given === undefined ? NAMES.every((name) => !(name in reply)) : !GOOD_CODES.has(given);
}
