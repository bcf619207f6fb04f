import type { IncomingMessage } from 'node:http';
import type { PendingEntry } from '@gateway/metering/limits/request-entry';
import type { Caller } from '@gateway/model-service/caller';
import type { Candidate } from '@gateway/upstream/candidate';
import { giveBack } from '../call/accounting/give-back.ts';
import { isBlockedBefore, reserve, reserveTwice, settle } from '../call/accounting/metered-call.ts';
import type { CallOutcome } from '../call/accounting/outcome.ts';
import { withContent } from '../call/content/call-content.ts';
import { holdsAnswer } from '../call/hooks/call-hooks.ts';
import { candidatesFor, holdCall, openCall } from '../call/open-call.ts';
import type { Address } from '../call/request/address.ts';
import { turnIn } from '../call/request/history.ts';
import type { HeldCall, OpenedCall, TextServices } from '../call/request/text-call.ts';
import type { TextEndpoint } from '../call/request/text-endpoint.ts';
import { sayUnstored } from '../call/storing/store-response.ts';
import { answerCall } from './answer-call.ts';
import {
  type Acceptance,
  acceptResponse,
  doesBackground,
  isDoneByProvider,
} from './background/accept-response.ts';

export type GenerateHandler = (
  incoming: IncomingMessage,
  caller: Caller,
  entry: PendingEntry | undefined,
  address?: Address,
) => Promise<void>;

/** Handles an endpoint that has a model generate: `POST /v1/responses`, `/v1/responses/compact`, `/v1/messages`, `/v1/chat/completions`, `/v1/completions`. */
export function createGenerateHandler(
  endpoint: TextEndpoint,
  services: TextServices,
  acceptance?: Acceptance,
): GenerateHandler {
  return async (incoming, caller, entry, address) => {
    const opened = await openCall(endpoint, services, incoming, { caller, entry, address });
    if (opened.request.background && acceptance !== undefined) {
      const candidates = candidatesFor(opened);
      if (!isDoneByProvider(opened, candidates) || holdsAnswer(opened)) {
        // Its worker logs it; a wish that may not be granted is refused now.
        const { content } = await withContent(opened);
        content?.cancel();
        return acceptResponse(opened, candidates, acceptance);
      }
    }
    return generateReply(opened);
  };
}

/** The life of a request, once it has been read and understood: the caller gets the end of the reply last of all. */
export async function generateReply(opened: OpenedCall): Promise<void> {
  const logged = withContent(opened);
  const held = await holdCall(logged instanceof Promise ? await logged : logged, 'generating');
  let outcome: CallOutcome;
  try {
    outcome = await answerHeld(held);
  } catch (error) {
    held.content?.cancel();
    throw error;
  } finally {
    await giveBack(held);
  }
  outcome.end();
  if (isBlockedBefore(outcome)) held.content?.cancel();
  else held.content?.end(outcome);
  if (outcome.thrown !== undefined && !held.caller.hasEnded) throw outcome.thrown;
}

/** Chooses who may answer, reserves what that may cost, has it answered, and settles. */
async function answerHeld(held: HeldCall): Promise<CallOutcome> {
  const { request, services, history } = held;
  const suitable = candidatesFor(held);
  // Another provider would keep the caller waiting.
  const candidates = request.background ? suitable.filter(doesBackground) : suitable;
  if (request.background) await services.background.requireStore();
  if (history.storing === 'refused') sayUnstored(held);
  const twice = mayHedge(held, candidates) ? await reserveTwice(held) : null;
  const reservation = twice ?? (await reserve(held));
  const { call, outcome } = await answerCall(
    { ...held, reservation },
    {
      candidates,
      // A response that a provider generates in the background goes on without its stream.
      holdsStart: !request.background,
      mayHedge: twice !== null,
    },
  );
  void settle(call, reservation, outcome);
  return outcome;
}

/**
 * Whether a call may be sent to two candidates at a time. Not what is bound to one provider, goes on without its caller, or
 * makes a provider do something twice: what it names, a thread, a background response, built-in tools.
 */
function mayHedge({ request, history }: HeldCall, candidates: readonly Candidate[]): boolean {
  const [first] = candidates;
  return (
    candidates.length > 1 &&
    first !== undefined &&
    first.route.hedge !== null &&
    !request.background &&
    request.ids.length === 0 &&
    request.thread === null &&
    turnIn(history) === null &&
    request.builtInTools.length === 0
  );
}
