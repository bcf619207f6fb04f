import type { Candidate } from '@gateway/upstream/catalog';
import type { Reply } from '@gateway/upstream/reply';
import type { UpstreamRequest } from '@gateway/upstream/upstream-request';
import { createPassthrough } from './passthrough/passthrough.ts';
import type { TextCall } from './text-call.ts';

/** How one call travels to a candidate, and the reply back to the caller. */
export interface Carrier {
  request(candidate: Candidate): UpstreamRequest;
  /** Writes the reply whole, or throws before anything of it has been sent. */
  relay(reply: Reply): Promise<void>;
}

/** Decides how a route is served: a channel of the caller's own protocol gets and gives the very bytes. */
export function carrierFor({ protocol }: Candidate, call: TextCall): Carrier {
  if (protocol === call.endpoint.protocol) return createPassthrough(call);
  throw new Error(`nothing carries ${call.endpoint.protocol} to a channel of the protocol ${protocol}`);
}
