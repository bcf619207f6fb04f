import type { Candidate } from '../candidate.ts';
import { credentialReason } from '../credentials/credential-sources.ts';
import type { Cause } from '../health/causes/causes.ts';
import type { Limit } from '../sending/deadline.ts';
import { withoutSecrets } from './clean-message.ts';
import type { Failure } from './failure.ts';
import type { FailureKind } from './failure-rules.ts';

const CONNECT_TIMEOUTS: ReadonlySet<string> = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  'ETIMEDOUT',
  'PROXY_TIMEOUT',
]);

/**
 * Errors of the network, of TLS and of an answer that is not HTTP. Others come from within the gateway, such as a header
 * that cannot be sent or too many open files, and show nothing about the provider.
 */
const PROVIDERS_CODES =
  /^(?:E(?:CONN\w+|HOST\w+|NET\w+|PIPE|TIMEDOUT|AI_\w+|NOTFOUND|PROTO)$|UND_ERR_(?:CONNECT_TIMEOUT|SOCKET|RES_\w+|HEADERS_OVERFLOW|HTTP_PARSER)$|HPE_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|BROKEN_COMPRESSION$|PROXY_|ERR_(?:TLS|SSL)_)/;

const troubleFor = (cause: Cause, error: Error): Pick<Failure, 'trouble'> =>
  PROVIDERS_CODES.test(codeOf(error)) ? { trouble: { cause, waitMs: null } } : {};

const codeOf = (error: Error): string =>
  'code' in error && typeof error.code === 'string' ? error.code : '';

const describe = (error: Error, candidate: Candidate): string =>
  withoutSecrets([codeOf(error), error.message].filter(Boolean).join(': '), candidate).slice(0, 500);

const UNKNOWN_AUTHORITY = /^(?:SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_(?:VERIFY|GET_ISSUER))/;
const AUTHORITY_HINT =
  "; if its authority is your own, name it to the channel's caFile, or to NODE_EXTRA_CA_CERTS for all channels";

/** A connection that could not be made. The request certainly did not begin. */
export const connectFailure = (candidate: Candidate, error: Error): Failure => ({
  kind: CONNECT_TIMEOUTS.has(codeOf(error)) ? 'timeout' : 'unreachable',
  candidate,
  status: null,
  detail: `no connection (${describe(error, candidate)}${UNKNOWN_AUTHORITY.test(codeOf(error)) ? AUTHORITY_HINT : ''})`,
  cause: error,
  ...troubleFor('unreachable', error),
});

/** There is nothing to send the request with. */
export const noCredentialsFailure = (candidate: Candidate, error: unknown): Failure => {
  const reason = credentialReason(error, candidate.account);
  return {
    kind: 'no-credentials',
    candidate,
    status: null,
    detail: `no credentials (${reason})`,
    cause: error,
    trouble: { cause: 'no-credentials', waitMs: null, reason: `it has no credentials: ${reason}` },
  };
};

/** A connection that broke, or an answer that was not HTTP, after it was made. */
export const brokenFailure = (
  candidate: Candidate,
  kind: FailureKind,
  status: number | null,
  error: Error,
): Failure => ({
  kind,
  candidate,
  status,
  detail: `the connection broke (${describe(error, candidate)})`,
  cause: error,
  ...troubleFor('failing', error),
});

/** Limits that only a provider can exceed. The whole of a long reply takes as long as its caller requested, or reads. */
const SLOW_LIMITS: Readonly<Record<'checking' | 'open', ReadonlySet<Limit>>> = {
  checking: new Set<Limit>(['sending', 'first output', 'idle', 'total']),
  open: new Set<Limit>(['idle']),
};

/** The failure for a time limit that ran out, while the reply was `checking`, or `open` to its consumer. */
export const timeoutFailure = (
  candidate: Candidate,
  kind: FailureKind,
  status: number | null,
  limit: Limit,
  phase: 'checking' | 'open',
): Failure => ({
  kind,
  candidate,
  status,
  detail: `the time limit "${limit}" ran out`,
  ...(SLOW_LIMITS[phase].has(limit) ? { trouble: { cause: 'slow', waitMs: null } } : {}),
});

/** A 2xx reply that is no answer; `detail` says what is wrong with it. */
export const noAnswerFailure = (
  candidate: Candidate,
  kind: FailureKind,
  status: number,
  detail: string,
): Failure => ({ kind, candidate, status, detail, trouble: { cause: 'failing', waitMs: null } });
