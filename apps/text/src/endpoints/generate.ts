import type { GatewayError } from '@gateway/contracts/gateway-error';
import type { Candidate } from '@gateway/upstream/catalog';
import type { RequestHandler } from 'express';
import { attemptCandidates } from '../call/attempt-candidates.ts';
import { sayUnkept } from '../call/keep-response.ts';
import { lockConversation } from '../call/lock-conversation.ts';
import { reserve, settle } from '../call/metered-call.ts';
import { candidatesFor, openCall } from '../call/open-call.ts';
import { prepareNamed } from '../call/prepare-named.ts';
import type { PrepareAttempt, PreparedAttempt } from '../call/prepared-attempt.ts';
import type { TextCall, TextServices } from '../call/text-call.ts';
import type { TextEndpoint } from '../call/text-endpoint.ts';
import { preparePassthrough } from '../passthrough/passthrough.ts';
import { checkWholeReply } from '../passthrough/relay-json.ts';
import { openThread } from '../threads/open-thread.ts';
import { prepareTranslation } from '../translation/translation.ts';

/** Handles an endpoint that has a model generate: `POST /v1/responses`, `/v1/messages`, `/v1/chat/completions`. */
export function createGenerateHandler(endpoint: TextEndpoint, services: TextServices): RequestHandler {
  return async (message, response) => {
    const opened = await openCall(endpoint, services, message, response);
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
  const candidates = candidatesFor(opened);
  if (opened.history.storing === 'refused') sayUnkept(opened);
  const reservation = await reserve(opened);
  const call = { ...opened, reservation };
  const check = call.request.streamed ? {} : { checkOutput: checkWholeReply };
  const outcome = await attemptCandidates(call, { candidates, prepare: prepareFor(call), ...check });
  void settle(call, reservation, outcome);
  if (outcome.thrown !== undefined) throw outcome.thrown;
}

const prepareFor =
  (call: TextCall): PrepareAttempt =>
  (candidate) =>
    prepareNamed(call, candidate, prepareOne);

/** A channel of the caller's own protocol gets and gives the very bytes; for another one they are translated. */
const prepareOne = (call: TextCall, candidate: Candidate): PreparedAttempt | GatewayError =>
  candidate.protocol === call.endpoint.protocol
    ? preparePassthrough(call, candidate)
    : prepareTranslation(call, candidate);
