import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Candidate } from '@gateway/upstream/catalog';
import type { Reply } from '@gateway/upstream/reply';
import type { UpstreamRequest } from '@gateway/upstream/upstream-request';
import { createPassthrough } from './passthrough/passthrough.ts';
import type { TextCall } from './text-call.ts';
import { createTranslation } from './translation/translation.ts';

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

/** A route's carrier knows what it asked there, so it is made once. */
export function rememberCarriers(make: (candidate: Candidate) => Carrier): (candidate: Candidate) => Carrier {
  const carriers = new Map<Candidate, Carrier>();
  return (candidate) => {
    const carrier = carriers.get(candidate) ?? make(candidate);
    carriers.set(candidate, carrier);
    return carrier;
  };
}

/**
 * Decides how each route of a call is served: a channel of the caller's own protocol gets and gives the very bytes,
 * for another one they are translated.
 */
export const carriersOf = (call: TextCall): ((candidate: Candidate) => Carrier) =>
  rememberCarriers(({ protocol }) =>
    protocol === call.endpoint.protocol ? createPassthrough(call) : createTranslation(call),
  );

/** A request that is made, or the reason why it cannot be. */
export function unlessRefused<Request>(make: () => Request): Request | GatewayError {
  try {
    return make();
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
}
