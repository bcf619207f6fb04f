import { GatewayError, type GatewayErrorOptions } from '@gateway/contracts/gateway-error';
import type { Candidate } from './catalog.ts';
import { type FailureKind, failureRule } from './failures.ts';

/** Why one attempt at one channel brought no reply. */
export interface Failure {
  readonly kind: FailureKind;
  readonly candidate: Candidate;
  /** The provider's HTTP status, if it answered. */
  readonly status: number | null;
  /** What happened, for the log; free of secrets. */
  readonly detail: string;
  /** What is to be told to the caller beyond the kind's own words. */
  readonly options?: Partial<GatewayErrorOptions>;
  readonly cause?: unknown;
}

/** The error that a caller sees for a failure. */
export const failureError = ({ kind, candidate, detail, options, cause }: Failure): GatewayError => {
  const { code, message, retryAfterSeconds } = failureRule(kind);
  return new GatewayError(code, {
    message,
    source: kind === 'left' ? 'gateway' : 'upstream',
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    ...options,
    cause: new Error(`channel ${candidate.channel.name}: ${detail}`, { cause }),
  });
};
