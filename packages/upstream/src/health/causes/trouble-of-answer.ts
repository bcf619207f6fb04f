import type { IncomingHttpHeaders } from 'node:http';
import { lookUp } from '@gateway/contracts/look-up';
import type { Candidate } from '../../candidate.ts';
import { ADVICE, describeAuth } from '../../credentials/describe-auth.ts';
import type { FailureKind } from '../../failures/failure-rules.ts';
import type { ProviderError } from '../../failures/provider-error.ts';
import type { Cause, Trouble } from './causes.ts';
import { resetWaitMs } from './reset-headers.ts';

interface Answer {
  readonly kind: FailureKind;
  readonly status: number;
  readonly error: ProviderError;
  readonly headers: IncomingHttpHeaders;
  /** From its message or `retry-after`, in milliseconds. */
  readonly waitMs: number | null;
  readonly candidate: Pick<Candidate, 'account' | 'model' | 'route'>;
}

type CauseOf = (answer: Answer) => Cause | null;

/**
 * A single request that is larger than the whole limit, or more expensive than the rest of the credit: smaller ones would be
 * answered. OpenAI: "Request too large for gpt-5 … Limit 30000, Requested 50000." OpenRouter: "requires more credits, or
 * fewer max_tokens … can only afford 900".
 */
const TOO_LARGE = /\brequest too large\b|\bfewer max_tokens\b|\bcan only afford\b/i;
const LIMIT_AND_REQUESTED = /\blimit:? (\d+)\b.*\brequested:? (\d+)\b/i;

const isTooLarge = ({ message }: ProviderError): boolean => {
  const [, limit, requested] = LIMIT_AND_REQUESTED.exec(message) ?? [];
  return TOO_LARGE.test(message) || Number(requested) > Number(limit);
};

const unlessTooLarge =
  (cause: Cause): CauseOf =>
  ({ error }) =>
    isTooLarge(error) ? null : cause;

/** An overload of the provider, by its own words. A bare 503 may as well be a server that is not there. */
const OVERLOAD_CODES: Readonly<Record<string, true>> = {
  overloaded_error: true,
  server_is_overloaded: true,
  slow_down: true,
};

const overloaded: CauseOf = ({ status, error }) => {
  const isNamed = [error.code, error.type].some((name) => lookUp(OVERLOAD_CODES, name));
  return status === 529 || isNamed ? 'overloaded' : 'failing';
};

/** 408: the request did not arrive in time. 425: it came too early. 501 and 505 refuse what was requested. */
const NOT_BROKEN: ReadonlySet<number> = new Set([408, 425, 501, 505]);

const CREDENTIAL_CODES: Readonly<Record<string, true>> = {
  invalid_api_key: true,
  account_deactivated: true,
  invalid_organization: true,
  ip_not_authorized: true,
  organization_on_hold: true,
  ExpiredToken: true,
  ExpiredTokenException: true,
  InvalidClientTokenId: true,
  InvalidSignatureException: true,
  SignatureDoesNotMatch: true,
  UnrecognizedClientException: true,
};
/** Azure, of an identity without the role. A new role takes minutes. The words alone may be quoted from a caller. */
const isWithoutRole = ({ code, message }: ProviderError): boolean =>
  code === 'PermissionDenied' && /\black(?:s|ing) the required data action\b/i.test(message);
const MODEL_CODES: Readonly<Record<string, true>> = { model_not_found: true, DeploymentNotFound: true };

/**
 * What only the operator can have caused. A 403 without a telling code may be about what the caller's request contains or
 * names, and a model that is not found may be one that a caller named: in the body, or by a route that passes names on.
 */
const misconfigured: CauseOf = ({ status, error, candidate: { model, route } }) => {
  if (lookUp(CREDENTIAL_CODES, error.code) || isWithoutRole(error)) return 'credentials';
  if (status === 401) return error.param === null ? 'credentials' : null;
  const isOwnModel = route.model !== null && error.message.includes(model);
  const isAboutModel = error.param === null || error.param === 'model';
  return lookUp(MODEL_CODES, error.code) && isOwnModel && isAboutModel ? 'model-missing' : null;
};

const never: CauseOf = () => null;

/** The cause that an error answer shows. An error that a caller can cause shows none. */
const CAUSE_OF: Readonly<Record<FailureKind, CauseOf>> = {
  'rate-limited': unlessTooLarge('rate-limited'),
  'quota-exhausted': unlessTooLarge('quota-exhausted'),
  overloaded,
  late: never,
  timeout: () => 'slow',
  failed: ({ status }) => (NOT_BROKEN.has(status) ? null : 'failing'),
  unreachable: () => 'unreachable',
  misconfigured,
  rejected: never,
  'not-found': never,
  'too-long': never,
  'no-credentials': () => 'no-credentials',
  'outcome-unknown': never,
  overtaken: never,
  left: never,
};

/** Null: it does not count. */
export const troubleOfAnswer = (answer: Answer, nowMs: number): Trouble | null => {
  const cause = CAUSE_OF[answer.kind](answer);
  if (cause === null) return null;
  const { auth } = answer.candidate.account.secrets;
  // Other credentials may do, or the same a little later.
  if (cause === 'credentials' && auth !== null) {
    const reason = `the provider refuses ${describeAuth(auth)}: ${ADVICE[auth.type]}`;
    return { cause: 'no-credentials', waitMs: null, reason };
  }
  const resetMs = cause === 'rate-limited' ? resetWaitMs(answer.headers, nowMs) : null;
  return { cause, waitMs: answer.waitMs ?? resetMs };
};
