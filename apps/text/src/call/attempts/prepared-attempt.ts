import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Candidate } from '@gateway/upstream/candidate';
import type { Reply } from '@gateway/upstream/replies/reply';
import type { UpstreamRequest } from '@gateway/upstream/requests/upstream-request';
import type { MaybePromise } from '../../large/maybe-promise.ts';
import type { ReplyOutcome } from '../accounting/outcome.ts';

/** A request that is ready for one candidate, and the handling of its reply. */
export interface PreparedAttempt {
  readonly request: UpstreamRequest;
  /** Another request for the same candidate, which avoids this refusal; null: there is no such request. */
  readonly retry?: (refusal: unknown) => MaybePromise<PreparedAttempt | GatewayError | null>;
  /** The candidate's refusal in the caller's terms. */
  readonly explain?: (refusal: GatewayError) => GatewayError;
  /** Brings the reply to the caller, but for its end. Never rejects: a failure before the first byte is in the outcome. */
  readonly receive: (reply: Reply) => Promise<ReplyOutcome>;
}

/** An error is the reason why the candidate cannot get this request. */
export type PrepareAttempt = (candidate: Candidate) => MaybePromise<PreparedAttempt | GatewayError>;

/** The same for what may take its time. */
export function unlessRefusedLater<Prepared>(
  prepare: () => MaybePromise<Prepared>,
): MaybePromise<Prepared | GatewayError> {
  const prepared = unlessRefused(prepare);
  return prepared instanceof Promise ? prepared.catch(refusalOf) : prepared;
}

function refusalOf(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  throw error;
}

/** What `prepare` makes, or the error by which it refuses. */
export function unlessRefused<Prepared>(prepare: () => Prepared): Prepared | GatewayError {
  try {
    return prepare();
  } catch (error) {
    return refusalOf(error);
  }
}
