import type { ErrorCode } from '@gateway/contracts/error-codes';
import { lookUp } from '@gateway/contracts/look-up';
import { notFoundFault } from './not-found.ts';
import { DAILY_QUOTA, type ProviderError } from './provider-error.ts';
import { isTooLong } from './too-long.ts';

interface FailureRule {
  readonly code: ErrorCode;
  /** Whether another channel may succeed. */
  readonly elsewhere: boolean;
  /** The caller gets the failure with the highest rank: failures worth a retry rank before others. */
  readonly rank: number;
  /** The message for callers. */
  readonly message: string;
  /** Whether the caller may repeat it; absent: by its code. */
  readonly retry?: boolean;
  /** The value of `retry-after`, if the provider sent none. */
  readonly retryAfterSeconds?: number;
}

/** Every way in which an attempt can fail, and its consequences (protocols' error table). */
export const FAILURES = {
  'rate-limited': {
    code: 'upstream_rate_limited',
    elsewhere: true,
    rank: 7,
    message: "The upstream's rate limit for this model is reached.",
    retryAfterSeconds: 5,
  },
  overloaded: {
    code: 'upstream_overloaded',
    elsewhere: true,
    rank: 6,
    message: 'The upstream is overloaded at the moment. Please try again shortly.',
    retryAfterSeconds: 5,
  },
  timeout: {
    code: 'upstream_timeout',
    elsewhere: true,
    rank: 5,
    message: 'The upstream did not answer in time.',
  },
  late: {
    code: 'upstream_timeout',
    elsewhere: false,
    rank: 8,
    message:
      'The upstream did not answer in time. It may still carry out the request and charge for it; repeat it only if that is acceptable.',
    retry: false,
  },
  failed: {
    code: 'upstream_failed',
    elsewhere: true,
    rank: 4,
    message: 'The upstream failed to answer this request.',
  },
  unreachable: {
    code: 'upstream_unreachable',
    elsewhere: true,
    rank: 3,
    message: 'The upstream cannot be reached at the moment.',
  },
  'no-credentials': {
    code: 'no_available_channel',
    elsewhere: true,
    rank: 3,
    message: 'The gateway cannot sign in at the upstream at the moment. Please try again shortly.',
    retryAfterSeconds: 5,
  },
  'quota-exhausted': {
    code: 'upstream_quota_exhausted',
    elsewhere: true,
    rank: 2,
    message: "The gateway's account at the upstream has no quota left. Its operator has to renew it.",
    retryAfterSeconds: 60,
  },
  misconfigured: {
    code: 'upstream_misconfigured',
    elsewhere: true,
    rank: 1,
    message: "The gateway's access to this model is not set up correctly. Its operator has to correct it.",
  },
  rejected: {
    code: 'upstream_rejected',
    elsewhere: false,
    rank: 8,
    message: 'The upstream refused this request.',
  },
  'not-found': {
    code: 'object_not_found',
    elsewhere: false,
    rank: 8,
    message: 'Something that this request names does not exist at the upstream. Check its ids.',
  },
  'too-long': {
    code: 'context_length_exceeded',
    elsewhere: false,
    rank: 8,
    message: 'The input is longer than the context of the model.',
  },
  'outcome-unknown': {
    code: 'outcome_unknown',
    elsewhere: false,
    rank: 8,
    message:
      'The connection to the upstream broke after the request was sent. It may have been carried out and charged; repeat it only if that is acceptable.',
  },
  overtaken: {
    code: 'upstream_failed',
    elsewhere: true,
    rank: 0,
    message: 'Another upstream answered first.',
  },
  left: {
    code: 'client_closed_request',
    elsewhere: false,
    rank: 8,
    message: 'The caller closed the request.',
  },
} as const satisfies Record<string, FailureRule>;

export type FailureKind = keyof typeof FAILURES;

/** The kinds that say nothing against the provider: the request could not be served, or nobody waits for it any more. */
export const NOT_OF_PROVIDER: readonly FailureKind[] = [
  'rejected',
  'not-found',
  'too-long',
  'overtaken',
  'left',
];

export const failureRule = (kind: FailureKind): FailureRule => FAILURES[kind];

/** What a provider's status means. Others: 4xx is the caller's fault, everything else the provider's. */
const STATUS_KINDS: Readonly<Record<number, FailureKind>> = {
  401: 'misconfigured',
  402: 'quota-exhausted',
  403: 'misconfigured',
  404: 'misconfigured',
  405: 'misconfigured',
  407: 'misconfigured',
  408: 'failed',
  425: 'failed',
  429: 'rate-limited',
  503: 'overloaded',
  504: 'timeout',
  524: 'timeout',
  529: 'overloaded',
};

/** The failure for a provider's error code or type, with any status. */
const CODE_KINDS: Readonly<Record<string, FailureKind>> = {
  insufficient_quota: 'quota-exhausted',
  credit_balance_exhausted: 'quota-exhausted',
  billing_hard_limit_reached: 'quota-exhausted',
  billing_error: 'quota-exhausted',
  enforced_spend_limit_reached: 'quota-exhausted',
  contract_spend_limit_reached: 'quota-exhausted',
  model_not_found: 'misconfigured',
  invalid_api_key: 'misconfigured',
  DeploymentNotFound: 'misconfigured',
  organization_on_hold: 'misconfigured',
  // Google: also under 400.
  API_KEY_INVALID: 'misconfigured',
  API_KEY_SERVICE_BLOCKED: 'misconfigured',
  SERVICE_DISABLED: 'misconfigured',
  BILLING_DISABLED: 'quota-exhausted',
  [DAILY_QUOTA]: 'quota-exhausted',
  server_is_overloaded: 'overloaded',
  slow_down: 'overloaded',
  previous_response_not_found: 'rejected',
  // A message of the caller was not found; its clients recover by this answer.
  thread_not_found: 'rejected',
  context_length_exceeded: 'too-long',
  exceed_context_size_error: 'too-long',
  context_window_exceeded: 'too-long',
  // Z.ai.
  '1261': 'too-long',
  // MiniMax.
  'base_resp 1039': 'too-long',
  // AWS. Its words may speak of tokens where a rate is meant: the code goes before them.
  ThrottlingException: 'rate-limited',
  TooManyRequestsException: 'rate-limited',
  ServiceQuotaExceededException: 'quota-exhausted',
  ModelNotReadyException: 'overloaded',
  ServiceUnavailableException: 'overloaded',
  ModelTimeoutException: 'timeout',
  ModelErrorException: 'failed',
  ModelStreamErrorException: 'failed',
  AccessDeniedException: 'misconfigured',
  ResourceNotFoundException: 'misconfigured',
};

/** Anthropic reports an account without credit as an ordinary 400; only its message shows it. Later in a message a caller may be quoted. */
const NO_CREDIT = /^your credit balance is too low/i;

/** Bedrock's 403 to cache points of a model that takes none: without them it answers. */
const NO_CACHING = /\bdid not allow prompt caching\b/i;

/** Bedrock reports as an ordinary 400 that an id is no model's, or that a model does not do what the route expects of it. */
const WRONG_MODEL_ID =
  /\bwith on-demand throughput isn['’]t supported|\bmodel identifier is invalid\b|\bdoesn['’]t support counting tokens/i;

/** What these mean is not changed by a message about lengths: who may not, what is not there, how often. */
const NEVER_TOO_LONG: ReadonlySet<number> = new Set([401, 402, 403, 404, 405, 407, 429]);

/** llama.cpp answers 500 to content that its model cannot take, and to tools that it cannot read. */
const REFUSED_WITH_500 =
  /\b(?:image|audio|video) input is not supported\b|\bmmproj\b|^failed to parse (?:tools|messages)\b/i;

export interface AnswerFacts {
  readonly status: number;
  readonly error: ProviderError;
  /** The request is about an object at the provider, so that a 404 means that object and not the model. */
  readonly namesObject: boolean;
  /** The channel's name of the model. */
  readonly model: string;
}

export const classifyAnswer = ({ status, error, namesObject, model }: AnswerFacts): FailureKind => {
  if (status === 403 && NO_CACHING.test(error.message)) return 'rejected';
  for (const code of [error.code, error.type, error.detail]) {
    const kind = lookUp(CODE_KINDS, code);
    if (kind !== undefined) return kind;
  }
  if (status === 400 && NO_CREDIT.test(error.message)) return 'quota-exhausted';
  if (status === 400 && WRONG_MODEL_ID.test(error.message)) return 'misconfigured';
  if (!NEVER_TOO_LONG.has(status) && isTooLong(error.message)) return 'too-long';
  if (status === 404 && namesObject) return 'rejected';
  if (status === 404 && notFoundFault(error, model) === 'caller') return 'not-found';
  if (status === 500 && REFUSED_WITH_500.test(error.message)) return 'rejected';
  const kind = STATUS_KINDS[status];
  if (kind !== undefined) return kind;
  if (status >= 300 && status < 400) return 'misconfigured';
  return status >= 400 && status < 500 ? 'rejected' : 'failed';
};
