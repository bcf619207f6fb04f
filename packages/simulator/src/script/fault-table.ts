/** The parts of an error of this provider. */
export interface ProviderErrorOptions {
  readonly status: number;
  readonly message: string;
  /** OpenAI's `error.type`; default by status. */
  readonly type?: string;
  readonly code?: string | null;
  readonly param?: string | null;
  /** Anthropic's `error.type`; default by status. */
  readonly anthropicType?: string;
  readonly details?: Record<string, unknown>;
  readonly headers?: Record<string, string>;
}

export interface FaultSpec {
  readonly openaiType: string;
  readonly openaiCode: string | null;
  readonly anthropicType: string;
  readonly message: string;
}

const fault = (
  openaiType: string,
  openaiCode: string | null,
  anthropicType: string,
  message: string,
): FaultSpec => ({ openaiType, openaiCode, anthropicType, message });

const INVALID = 'invalid_request_error';

/** Each status's error in both body shapes. */
export const STATUS_FAULTS: Readonly<Record<number, FaultSpec>> = {
  400: fault(INVALID, null, INVALID, 'The request was refused by the simulated provider.'),
  401: fault(
    INVALID,
    'invalid_api_key',
    'authentication_error',
    'Incorrect API key provided: sk-simu*****abcd. You can find your API key at https://platform.openai.com/account/api-keys.',
  ),
  402: fault(
    INVALID,
    'billing_hard_limit_reached',
    'billing_error',
    'Your account is not active, please check your billing details.',
  ),
  403: fault(
    INVALID,
    'insufficient_permissions',
    'permission_error',
    'You have insufficient permissions for this operation.',
  ),
  404: fault(INVALID, null, 'not_found_error', 'Not found.'),
  405: fault(INVALID, 'method_not_supported', INVALID, 'Method not allowed.'),
  408: fault(INVALID, null, INVALID, 'Request timed out.'),
  409: fault('conflict', null, 'conflict_error', 'The resource is being changed by another request.'),
  413: fault(INVALID, null, 'request_too_large', 'Request exceeds the maximum size'),
  415: fault(INVALID, 'unsupported_content_type', INVALID, 'Unsupported content type.'),
  422: fault(INVALID, null, INVALID, 'The request could not be processed.'),
  429: fault(
    'requests',
    'rate_limit_exceeded',
    'rate_limit_error',
    'Rate limit reached for requests per min (RPM): Limit 500, Used 500, Requested 1. Please try again in 1s.',
  ),
  500: fault(
    'server_error',
    'server_error',
    'api_error',
    'The server had an error while processing your request.',
  ),
  502: fault('server_error', null, 'api_error', 'Bad gateway.'),
  503: fault(
    'service_unavailable_error',
    'server_is_overloaded',
    'overloaded_error',
    'The server is overloaded or not ready yet.',
  ),
  504: fault('server_error', null, 'timeout_error', 'The request timed out.'),
  529: fault('service_unavailable_error', 'server_is_overloaded', 'overloaded_error', 'Overloaded'),
};

/** A named fault: the error of either protocol family. */
interface NamedFault {
  readonly openai: ProviderErrorOptions;
  readonly anthropic: ProviderErrorOptions;
}

const QUOTA_MESSAGE =
  'You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.';

/** Faults that a bare status cannot express. */
export const NAMED_FAULTS = {
  quota: {
    openai: { status: 429, type: 'insufficient_quota', code: 'insufficient_quota', message: QUOTA_MESSAGE },
    anthropic: {
      status: 429,
      message: 'You have reached your specified API usage limits.',
      details: { error_code: 'enforced_spend_limit_reached' },
      headers: { 'x-should-retry': 'false' },
    },
  },
  overloaded: {
    openai: { status: 503, message: 'The server is overloaded or not ready yet.' },
    anthropic: { status: 529, message: 'Overloaded' },
  },
  'model-not-found': {
    openai: {
      status: 404,
      code: 'model_not_found',
      param: 'model',
      message: 'The model does not exist or you do not have access to it.',
    },
    anthropic: { status: 404, message: 'model: unknown' },
  },
  'object-not-found': {
    openai: { status: 404, code: null, message: "Vector store with id 'vs_68a1b2c3' not found." },
    anthropic: { status: 404, message: 'File not found: file_011CNha8iCJc' },
  },
  'context-length': {
    openai: {
      status: 400,
      code: 'context_length_exceeded',
      param: 'input',
      message: 'Your input exceeds the context window of this model. Please adjust your input and try again.',
    },
    anthropic: { status: 400, message: 'prompt is too long: 213456 tokens > 200000 maximum' },
  },
  'content-policy': {
    openai: {
      status: 400,
      code: 'content_policy_violation',
      message: 'Your request was rejected as a result of our safety system.',
    },
    anthropic: { status: 400, message: 'Output blocked by content filtering policy' },
  },
  'no-key': {
    openai: {
      status: 401,
      code: null,
      message:
        "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
    },
    anthropic: { status: 401, message: 'x-api-key header is required' },
  },
} as const satisfies Record<string, NamedFault>;

export type NamedFaultName = keyof typeof NAMED_FAULTS;

export const isNamedFault = (name: string): name is NamedFaultName => Object.hasOwn(NAMED_FAULTS, name);
