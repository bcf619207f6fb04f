import type { RequestHandler } from 'express';
import { attemptCandidates } from '../call/attempt-candidates.ts';
import { sayUnkept } from '../call/keep-response.ts';
import { lockConversation } from '../call/lock-conversation.ts';
import { reserve, settle } from '../call/metered-call.ts';
import { candidatesFor, openCall } from '../call/open-call.ts';
import type { TextCall, TextServices } from '../call/text-call.ts';
import type { TextEndpoint } from '../call/text-endpoint.ts';
import { checkWholeReply } from '../passthrough/relay-json.ts';
import { openThread } from '../threads/open-thread.ts';
import {
  type Acceptance,
  acceptResponse,
  doesBackground,
  isDoneByProvider,
} from './background/accept-response.ts';
import { prepareFor } from './prepare-attempt.ts';

/** Handles an endpoint that has a model generate: `POST /v1/responses`, `/v1/messages`, `/v1/chat/completions`. */
export function createGenerateHandler(
  endpoint: TextEndpoint,
  services: TextServices,
  acceptance?: Acceptance,
): RequestHandler {
  return async (message, response) => {
    const opened = await openCall(endpoint, services, message, response);
    if (opened.request.background && acceptance !== undefined) {
      const candidates = candidatesFor(opened);
      if (!isDoneByProvider(opened, candidates)) return acceptResponse(opened, candidates, acceptance);
    }
    const held = await lockConversation(await openThread(opened, 'generating'));
    try {
      await generate(held);
    } finally {
      await held.thread?.end();
      await held.conversationLock?.release().catch(() => undefined);
    }
  };
}

async function generate(opened: TextCall): Promise<void> {
  const suitable = candidatesFor(opened);
  // Another provider would keep the caller waiting.
  const candidates = opened.request.background ? suitable.filter(doesBackground) : suitable;
  if (opened.history.storing === 'refused') sayUnkept(opened);
  const reservation = await reserve(opened);
  const call = { ...opened, reservation };
  const check = call.request.streamed ? {} : { checkOutput: checkWholeReply };
  const outcome = await attemptCandidates(call, { candidates, prepare: prepareFor(call), ...check });
  void settle(call, reservation, outcome);
  if (outcome.thrown !== undefined) throw outcome.thrown;
}
