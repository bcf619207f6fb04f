import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Candidate } from '@gateway/upstream/candidate';
import { type MaybePromise, whenDone } from '../../large/maybe-promise.ts';
import { wholeCall } from '../history/whole-conversation.ts';
import { knowsNamed, namesStored } from '../request/history.ts';
import type { TextCall } from '../request/text-call.ts';
import type { PreparedAttempt } from './prepared-attempt.ts';

type Prepare = (call: TextCall, candidate: Candidate) => MaybePromise<PreparedAttempt | GatewayError>;

/**
 * Prepares a call for a candidate: as it came, if the candidate knows what it names; else with the whole conversation. The
 * whole conversation is also sent after a provider answers that it has forgotten it.
 *
 * @param isKnown whether the candidate gets the ids as the caller sent them
 */
export function prepareNamed(
  call: TextCall,
  candidate: Candidate,
  prepare: Prepare,
  isKnown = knowsNamed(call, candidate),
): MaybePromise<PreparedAttempt | GatewayError> {
  const prepareWhole = () =>
    wholeCall(call, candidate).then(
      (whole) => prepare(whole, candidate),
      (error: unknown) => {
        if (error instanceof GatewayError) return error;
        throw error;
      },
    );
  if (!isKnown) return prepareWhole();
  const mayBeForgotten = call.history.isWhole && namesStored(call);
  return whenDone(prepare(call, candidate), (prepared) => {
    if (prepared instanceof GatewayError || !mayBeForgotten) return prepared;
    const { retry } = prepared;
    return {
      ...prepared,
      retry: (refusal) => (isForgotten(refusal) ? prepareWhole() : (retry?.(refusal) ?? null)),
    };
  });
}

const FORGOTTEN = /previous_response_not_found|not found/i;

/** Whether a provider refused because it does not have the named response any more. */
const isForgotten = (refusal: unknown): boolean =>
  refusal instanceof GatewayError &&
  refusal.options.relay !== undefined &&
  FORGOTTEN.test(refusal.options.relay.body);
