import type { PrepareAttempt } from '../call/prepared-attempt.ts';
import type { TextCall } from '../call/text-call.ts';
import { preparePassthrough } from '../passthrough/passthrough.ts';
import { prepareTranslation } from '../translation/translation.ts';

/** A channel of the caller's own protocol gets and gives the very bytes; for another one they are translated. */
export const prepareFor =
  (call: TextCall): PrepareAttempt =>
  (candidate) =>
    candidate.protocol === call.endpoint.protocol
      ? preparePassthrough(call, candidate)
      : prepareTranslation(call, candidate);
