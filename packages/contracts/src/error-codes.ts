/**
 * The closed list of errors, with what each protocol's clients get.
 *
 * `openai` and `anthropic` hold the status and the words of the two body shapes; `retry` is the value of
 * `x-should-retry`, so that client libraries repeat only requests that may succeed. A validation code has OpenAI's own
 * name, because clients read that name.
 */
export interface ErrorSpec {
  readonly openai: { readonly status: number; readonly type: string; readonly code: string | null };
  /** `errorCode` is in the error's `details`. */
  readonly anthropic: { readonly status: number; readonly type: string; readonly errorCode?: string };
  readonly retry: boolean;
}

const invalid = (code: string | null): ErrorSpec => ({
  openai: { status: 400, type: 'invalid_request_error', code },
  anthropic: { status: 400, type: 'invalid_request_error' },
  retry: false,
});

const refused = (status: number, code: string | null, anthropicType: string): ErrorSpec => ({
  openai: { status, type: 'invalid_request_error', code },
  anthropic: { status, type: anthropicType },
  retry: false,
});

const upstream = (
  status: number,
  code: string,
  anthropic: ErrorSpec['anthropic'],
  retry: boolean,
): ErrorSpec => ({
  openai: { status, type: 'server_error', code },
  anthropic,
  retry,
});

/** Clients of message threads read `errorCode` and nothing else. */
const thread = (status: number, anthropicType: string, code: string): ErrorSpec => ({
  openai: { status, type: 'invalid_request_error', code },
  anthropic: { status, type: anthropicType, errorCode: code },
  retry: false,
});

const apiError = { status: 500, type: 'api_error' };
const overloaded = { status: 529, type: 'overloaded_error' };

export const ERRORS = {
  // Who is calling
  missing_key: refused(401, null, 'authentication_error'),
  invalid_key: refused(401, 'invalid_api_key', 'authentication_error'),
  endpoint_not_allowed: refused(403, 'insufficient_permissions', 'permission_error'),
  origin_not_allowed: refused(403, 'origin_not_allowed', 'permission_error'),
  content_log_required: refused(403, 'content_log_required', 'permission_error'),

  // What the request names
  path_not_found: refused(404, null, 'not_found_error'),
  method_not_allowed: refused(405, 'method_not_supported', 'invalid_request_error'),
  upgrade_refused: refused(426, 'upgrade_refused', 'invalid_request_error'),
  invalid_stream_id: invalid('invalid_stream_id'),
  websocket_stream_limit_reached: invalid('websocket_stream_limit_reached'),
  websocket_connection_limit_reached: invalid('websocket_connection_limit_reached'),
  model_not_found: refused(404, 'model_not_found', 'not_found_error'),
  unsupported_model: invalid('unsupported_model'),
  unpriced_model: refused(403, 'unpriced_model', 'permission_error'),
  unsupported_tool: invalid('unsupported_tool'),
  object_not_found: refused(404, null, 'not_found_error'),
  conflict: refused(409, 'conflict', 'invalid_request_error'),
  previous_response_not_found: invalid('previous_response_not_found'),
  conversation_locked: invalid('conversation_locked'),
  thread_not_found: thread(404, 'not_found_error', 'thread_not_found'),
  thread_already_continued: thread(400, 'invalid_request_error', 'thread_already_continued'),
  thread_continue_in_flight: thread(400, 'invalid_request_error', 'thread_continue_in_flight'),
  thread_fingerprint_mismatch: thread(400, 'invalid_request_error', 'thread_fingerprint_mismatch'),
  thread_unsupported_request: thread(400, 'invalid_request_error', 'thread_unsupported_request'),

  // Compactions
  invalid_compaction: {
    openai: { status: 400, type: 'invalid_request_error', code: 'invalid_encrypted_content' },
    anthropic: { status: 400, type: 'invalid_request_error', errorCode: 'compaction_signature_invalid' },
    retry: false,
  },
  compaction_content_mismatch: {
    openai: { status: 400, type: 'invalid_request_error', code: 'invalid_encrypted_content' },
    anthropic: { status: 400, type: 'invalid_request_error', errorCode: 'compaction_content_mismatch' },
    retry: false,
  },
  nothing_to_compact: {
    openai: { status: 400, type: 'invalid_request_error', code: null },
    anthropic: { status: 400, type: 'invalid_request_error', errorCode: 'compaction_nothing_to_summarize' },
    retry: false,
  },
  compaction_unavailable: {
    openai: { status: 502, type: 'server_error', code: 'compaction_unavailable' },
    anthropic: { status: 529, type: 'overloaded_error', errorCode: 'compaction_unavailable' },
    retry: true,
  },

  // The shape of the request
  headers_too_large: refused(431, 'request_headers_too_large', 'invalid_request_error'),
  malformed_request: invalid(null),
  request_timeout: refused(408, 'request_timeout', 'invalid_request_error'),
  invalid_json: invalid(null),
  missing_header: invalid('missing_required_parameter'),
  unsupported_content_type: invalid('unsupported_content_type'),
  unsupported_content_encoding: {
    openai: { status: 415, type: 'invalid_request_error', code: 'unsupported_content_encoding' },
    anthropic: {
      status: 400,
      type: 'invalid_request_error',
      errorCode: 'request_body_encoding_unsupported',
    },
    retry: false,
  },
  request_too_large: refused(413, 'request_too_large', 'request_too_large'),
  file_too_large: refused(413, 'file_too_large', 'request_too_large'),
  missing_required_parameter: invalid('missing_required_parameter'),
  unknown_parameter: invalid('unknown_parameter'),
  unsupported_parameter: invalid('unsupported_parameter'),
  unsupported_value: invalid('unsupported_value'),
  mutually_exclusive_parameters: invalid('mutually_exclusive_parameters'),
  invalid_type: invalid('invalid_type'),
  invalid_value: invalid('invalid_value'),
  decimal_above_max_value: invalid('decimal_above_max_value'),
  decimal_below_min_value: invalid('decimal_below_min_value'),
  integer_above_max_value: invalid('integer_above_max_value'),
  integer_below_min_value: invalid('integer_below_min_value'),
  string_above_max_length: invalid('string_above_max_length'),
  string_below_min_length: invalid('string_below_min_length'),
  array_above_max_length: invalid('array_above_max_length'),
  array_below_min_length: invalid('array_below_min_length'),
  invalid_language_format: invalid('invalid_language_format'),
  unsupported_file_mimetype: invalid('unsupported_file_mimetype'),
  unsupported_format: invalid('unsupported_format'),
  invalid_image_file: invalid('invalid_image_file'),
  invalid_image_format: invalid('invalid_image_format'),
  invalid_mask_image_format: invalid('invalid_mask_image_format'),
  audio_too_short: invalid('audio_too_short'),

  // Hooks
  guardrail_blocked: invalid('content_filter'),
  guardrail_unavailable: upstream(503, 'guardrail_unavailable', overloaded, true),

  // Limits
  rate_limited: {
    openai: { status: 429, type: 'requests', code: 'rate_limit_exceeded' },
    anthropic: { status: 429, type: 'rate_limit_error' },
    retry: true,
  },
  rate_limited_tokens: {
    openai: { status: 429, type: 'tokens', code: 'rate_limit_exceeded' },
    anthropic: { status: 429, type: 'rate_limit_error' },
    retry: true,
  },
  budget_exhausted: {
    openai: { status: 429, type: 'insufficient_quota', code: 'insufficient_quota' },
    anthropic: { status: 429, type: 'rate_limit_error', errorCode: 'enforced_spend_limit_reached' },
    retry: false,
  },
  queue_full: {
    openai: { status: 429, type: 'requests', code: 'rate_limit_exceeded' },
    anthropic: { status: 429, type: 'rate_limit_error' },
    retry: true,
  },

  result_quota_exhausted: {
    openai: { status: 429, type: 'insufficient_quota', code: 'result_quota_exhausted' },
    anthropic: { status: 429, type: 'rate_limit_error' },
    retry: false,
  },

  // Jobs and assets
  job_not_finished: refused(409, 'job_not_finished', 'invalid_request_error'),
  job_cancelled: refused(409, 'job_cancelled', 'invalid_request_error'),
  result_expired: refused(410, 'result_expired', 'not_found_error'),
  asset_forbidden: refused(403, 'asset_forbidden', 'permission_error'),
  idempotency_key_reused: refused(422, 'idempotency_key_reused', 'invalid_request_error'),
  range_not_satisfiable: refused(416, 'range_not_satisfiable', 'invalid_request_error'),
  outcome_unknown: upstream(502, 'outcome_unknown', apiError, false),

  // The upstream
  upstream_rejected: invalid('upstream_rejected'),
  context_length_exceeded: invalid('context_length_exceeded'),
  upstream_misconfigured: upstream(502, 'upstream_error', apiError, false),
  upstream_failed: upstream(502, 'upstream_error', apiError, true),
  upstream_unreachable: upstream(502, 'upstream_error', apiError, true),
  upstream_timeout: upstream(504, 'upstream_timeout', { status: 504, type: 'timeout_error' }, true),
  upstream_rate_limited: {
    openai: { status: 429, type: 'requests', code: 'rate_limit_exceeded' },
    anthropic: { status: 429, type: 'rate_limit_error' },
    retry: true,
  },
  upstream_quota_exhausted: upstream(503, 'upstream_unavailable', overloaded, true),
  upstream_overloaded: {
    openai: { status: 503, type: 'service_unavailable_error', code: 'server_is_overloaded' },
    anthropic: overloaded,
    retry: true,
  },
  no_available_channel: upstream(503, 'no_available_channel', overloaded, true),

  // The gateway
  client_closed_request: refused(499, 'client_closed_request', 'invalid_request_error'),
  service_unavailable: upstream(503, 'service_unavailable', overloaded, true),
  service_timeout: upstream(504, 'service_timeout', { status: 504, type: 'timeout_error' }, true),
  overloaded: {
    openai: { status: 503, type: 'service_unavailable_error', code: 'server_is_overloaded' },
    anthropic: overloaded,
    retry: true,
  },
  shutting_down: upstream(503, 'shutting_down', overloaded, true),
  storage_full: upstream(507, 'storage_full', apiError, true),
  internal: {
    openai: { status: 500, type: 'server_error', code: null },
    anthropic: apiError,
    retry: true,
  },
} as const satisfies Record<string, ErrorSpec>;

export type ErrorCode = keyof typeof ERRORS;
