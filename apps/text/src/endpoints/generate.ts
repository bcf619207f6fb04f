import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Candidate } from '@gateway/upstream/candidate';
import { giveBack } from '../call/accounting/give-back.ts';
import { reserve, reserveTwice, settle } from '../call/accounting/metered-call.ts';
import type { CallOutcome } from '../call/accounting/outcome.ts';
import { lockConversation } from '../call/history/lock-conversation.ts';
import { sayUnkept } from '../call/keeping/keep-response.ts';
import { candidatesFor, openCall } from '../call/open-call.ts';
import type { TextCall, TextServices } from '../call/request/text-call.ts';
import type { TextEndpoint } from '../call/request/text-endpoint.ts';
import { answerCall } from '../compaction/answer-call.ts';
import { prepareFor } from '../compaction/prepare-attempt.ts';
import { openThread } from '../threads/open-thread.ts';
import {
  type Acceptance,
  acceptResponse,
  doesBackground,
  isDoneByProvider,
} from './background/accept-response.ts';

/** Handles an endpoint that has a model generate: `POST /v1/responses`, `/v1/responses/compact`, `/v1/messages`, `/v1/chat/completions`. */
export function createGenerateHandler(
  endpoint: TextEndpoint,
  services: TextServices,
  acceptance?: Acceptance,
): (message: IncomingMessage, response: ServerResponse) => Promise<void> {
  return async (message, response) => {
    const opened = await openCall(endpoint, services, message, response);
    if (opened.request.background && acceptance !== undefined) {
      const candidates = candidatesFor(opened);
      if (!isDoneByProvider(opened, candidates)) return acceptResponse(opened, candidates, acceptance);
    }
    return generateReply(opened);
  };
}

/** Has a model generate, and writes its reply to the caller: its end when all that the call holds has been given back. */
export async function generateReply(opened: TextCall): Promise<void> {
  const held = await lockConversation(await openThread(opened, 'generating'));
  const { request, response, services, history } = held;
  let outcome: CallOutcome;
  try {
    const suitable = candidatesFor(held);
    // Another provider would keep the caller waiting.
    const candidates = request.background ? suitable.filter(doesBackground) : suitable;
    if (request.background) await services.background.requireStore();
    if (history.storing === 'refused') sayUnkept(held);
    const twice = mayHedge(held, candidates) ? await reserveTwice(held) : null;
    const reservation = twice ?? (await reserve(held));
    const answered = await answerCall(
      { ...held, reservation },
      {
        candidates,
        prepare: prepareFor,
        // A response that a provider generates in the background goes on without its stream.
        holdsStart: !request.background,
        mayHedge: twice !== null,
      },
    );
    outcome = answered.outcome;
    void settle(answered.call, reservation, outcome);
  } finally {
    await giveBack(held);
  }
  outcome.end();
  if (outcome.thrown !== undefined && !response.writableEnded) throw outcome.thrown;
}

/**
 * Whether a call may be sent to two candidates at a time. Not what is bound to one provider, goes on without its caller, or
 * makes a provider do something twice: what it names, a thread, a background response, built-in tools.
 */
function mayHedge({ request, thread }: TextCall, candidates: readonly Candidate[]): boolean {
  const [first] = candidates;
  return (
    candidates.length > 1 &&
    first !== undefined &&
    first.route.hedge !== null &&
    !request.background &&
    request.ids.length === 0 &&
    request.thread === null &&
    thread === null &&
    request.builtInTools.length === 0
  );
}
