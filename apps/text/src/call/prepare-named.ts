import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Candidate } from '@gateway/upstream/candidate';
import { knowsNamed, namesKept } from './history.ts';
import type { PreparedAttempt } from './prepared-attempt.ts';
import type { TextCall } from './text-call.ts';
import { wholeCall } from './whole-conversation.ts';

type Prepare = (call: TextCall, candidate: Candidate) => PreparedAttempt | GatewayError;

/**
 * Prepares a call for a candidate: as it came where the candidate knows what it names, else with the whole conversation.
 * So also where a provider turns out to have forgotten it.
 *
 * @param isKnown whether the candidate is sent what the request names as it came
 */
export function prepareNamed(
  call: TextCall,
  candidate: Candidate,
  prepare: Prepare,
  isKnown = knowsNamed(call, candidate),
): PreparedAttempt | GatewayError | Promise<PreparedAttempt | GatewayError> {
  const prepareWhole = () =>
    wholeCall(call, candidate).then(
      (whole) => prepare(whole, candidate),
      (error: unknown) => {
        if (error instanceof GatewayError) return error;
        throw error;
      },
    );
  if (!isKnown) return prepareWhole();
  const prepared = prepare(call, candidate);
  const mayBeForgotten = call.history.isWhole && namesKept(call);
  if (prepared instanceof GatewayError || !mayBeForgotten) return prepared;
  const { retry } = prepared;
  return {
    ...prepared,
    retry: (refusal) => (isForgotten(refusal) ? prepareWhole() : (retry?.(refusal) ?? null)),
  };
}

const FORGOTTEN = /previous_response_not_found|not found/i;

/** The provider does not have it any more. */
const isForgotten = (refusal: unknown): boolean =>
  refusal instanceof GatewayError &&
  refusal.options.relay !== undefined &&
  FORGOTTEN.test(refusal.options.relay.body);
