import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Candidate } from '@gateway/upstream/catalog';
import type { Reply } from '@gateway/upstream/reply';
import type { UpstreamRequest } from '@gateway/upstream/upstream-request';

/** How one call travels to a candidate, and the reply back to the caller. */
export interface Carrier {
  /** An error says why the request cannot be carried to this candidate. */
  request(candidate: Candidate): UpstreamRequest | GatewayError;
  /** Whether a refusal of the candidate's asks for one more try, with a request that is made anew. */
  learn?(error: unknown): boolean;
  /** The candidate's refusal in the caller's terms. */
  explain?(error: GatewayError, candidate: Candidate): GatewayError;
  /** Writes the reply whole, or throws before anything of it has been sent. */
  relay(reply: Reply): Promise<void>;
}

/** A request that is made, or the reason why it cannot be. */
export function unlessRefused<Request>(make: () => Request): Request | GatewayError {
  try {
    return make();
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
}
