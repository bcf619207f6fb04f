import type { Candidate } from '@gateway/upstream/catalog';
import type { Carrier } from '../call/adapter.ts';
import type { TextCall } from '../call/text-call.ts';
import { createPassthrough } from '../passthrough/passthrough.ts';
import { createTranslation } from '../translation/translation.ts';

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
