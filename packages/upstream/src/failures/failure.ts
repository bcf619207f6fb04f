import type { IncomingHttpHeaders } from 'node:http';
import { GatewayError, type GatewayErrorOptions } from '@gateway/contracts/gateway-error';
import type { Candidate } from '../candidate.ts';
import type { Trouble } from '../health/causes/causes.ts';
import { type FailureKind, failureRule } from './failure-rules.ts';

/** What had come of a 2xx reply that is no answer. */
export interface DiscardedReply {
  readonly candidate: Candidate;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
}

/** Why an attempt got no reply. */
export interface Failure {
  readonly kind: FailureKind;
  readonly candidate: Candidate;
  /** The provider's HTTP status, if it answered. */
  readonly status: number | null;
  /** What happened, for the log; free of secrets. */
  readonly detail: string;
  /** The parts of the caller's error that differ from the kind's. */
  readonly options?: Partial<GatewayErrorOptions>;
  readonly cause?: unknown;
  /** The trouble of the provider that it shows; absent: none, so it does not count for a cooldown. */
  readonly trouble?: Trouble;
  /** Absent: nothing had come. */
  readonly discarded?: DiscardedReply;
}

/** The error that a caller sees for a failure. */
export const failureError = ({ kind, candidate, detail, options, cause }: Failure): GatewayError => {
  const { code, message, retry, retryAfterSeconds } = failureRule(kind);
  return new GatewayError(code, {
    message,
    source: kind === 'left' ? 'gateway' : 'upstream',
    ...(retry === undefined ? {} : { retry }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    ...options,
    cause: new Error(`channel ${candidate.channel.name}: ${detail}`, { cause }),
  });
};
