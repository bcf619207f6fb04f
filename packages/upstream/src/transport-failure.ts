import type { Candidate } from './catalog.ts';
import { withoutSecrets } from './clean-message.ts';
import type { Failure } from './failure.ts';
import type { FailureKind } from './failures.ts';

const CONNECT_TIMEOUTS: ReadonlySet<string> = new Set(['UND_ERR_CONNECT_TIMEOUT', 'ETIMEDOUT']);

const codeOf = (error: Error): string =>
  'code' in error && typeof error.code === 'string' ? error.code : '';

const describe = (error: Error, candidate: Candidate): string =>
  withoutSecrets([codeOf(error), error.message].filter(Boolean).join(': '), candidate).slice(0, 500);

/** A connection that could not be made. The request certainly did not begin. */
export const connectFailure = (candidate: Candidate, error: Error): Failure => ({
  kind: CONNECT_TIMEOUTS.has(codeOf(error)) ? 'timeout' : 'unreachable',
  candidate,
  status: null,
  detail: `no connection (${describe(error, candidate)})`,
  cause: error,
});

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
});
