import { collectReply } from './conversation/collect-reply.ts';
import type { Finish, Reply, Usage } from './conversation/reply.ts';
import { replyEvents } from './conversation/reply-events.ts';
import { PROTOCOLS } from './protocols.ts';
import { runStep } from './step.ts';
import type { AnswerPlan, Surroundings } from './target.ts';
import { undoSteps } from './undo-step.ts';

export interface TranslatedReply {
  /** For `JSON.stringify`, and for nothing else: it may hold preserved numbers. */
  readonly body: object;
  readonly usage: Usage;
  readonly finish: Finish;
}

function undoReply(reply: Reply, plan: AnswerPlan): Reply {
  const { step } = undoSteps(plan.undo);
  return step === null ? reply : collectReply(runStep(step, replyEvents(reply)));
}

/**
 * An upstream's finished answer in the words of the caller's protocol.
 * @param body parsed with `parseBody`, so that long numbers in tool arguments survive
 * @throws GatewayError where the answer is an error, or follows no protocol
 */
export function translateReply(plan: AnswerPlan, body: unknown, surroundings: Surroundings): TranslatedReply {
  const decoded = PROTOCOLS[plan.target.protocol].decodeReply(body, plan.target, surroundings.cleanText);
  const reply = undoReply(decoded, plan);
  return {
    body: PROTOCOLS[plan.caller].encodeReply(reply, { ...surroundings, plan }),
    usage: reply.usage,
    finish: reply.finish,
  };
}
