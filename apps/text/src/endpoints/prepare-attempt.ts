import type { GatewayError } from '@gateway/contracts/gateway-error';
import type { Candidate } from '@gateway/upstream/catalog';
import { prepareNamed } from '../call/prepare-named.ts';
import type { PrepareAttempt, PreparedAttempt } from '../call/prepared-attempt.ts';
import type { TextCall } from '../call/text-call.ts';
import { preparePassthrough } from '../passthrough/passthrough.ts';
import { prepareTranslation } from '../translation/translation.ts';

/** Prepares a call's attempts at its candidates. */
export const prepareFor =
  (call: TextCall): PrepareAttempt =>
  (candidate) =>
    prepareNamed(call, candidate, prepareOne);

/** A channel of the caller's own protocol gets and gives the very bytes; for another one they are translated. */
const prepareOne = (call: TextCall, candidate: Candidate): PreparedAttempt | GatewayError =>
  candidate.protocol === call.endpoint.protocol
    ? preparePassthrough(call, candidate)
    : prepareTranslation(call, candidate);
