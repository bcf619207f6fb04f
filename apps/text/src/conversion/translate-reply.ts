import { collectReply } from '../neutral/reply/collect-reply.ts';
import type { Finish, Reply } from '../neutral/reply/reply.ts';
import { replyEvents } from '../neutral/reply/reply-events.ts';
import type { AnswerPlan, ReplyContext } from '../neutral/target.ts';
import { PROTOCOLS, UPSTREAMS } from '../protocols/protocols.ts';
import { runStep } from '../wire/stream/step.ts';
import { addUsage, type Usage } from '../wire/usage.ts';
import { restoreSteps } from './restore-calls.ts';

export interface TranslatedReply {
  /** For `JSON.stringify`, and for nothing else: it may hold preserved numbers. */
  readonly body: object;
  readonly usage: Usage;
  readonly finish: Finish;
}

function restoreReply(reply: Reply, plan: AnswerPlan): Reply {
  const { step } = restoreSteps(plan.restore);
  return step === null ? reply : collectReply(runStep(step, replyEvents(reply)));
}

/** One answer that came in several replies, because the upstream paused in between. */
const joinReplies = (earlier: Reply, later: Reply): Reply => ({
  ...later,
  parts: [...earlier.parts, ...later.parts],
  usage: addUsage(earlier.usage, later.usage),
});

/**
 * An upstream's finished answer in the words of the caller's protocol.
 * @param body parsed with `parseBody`, so that long numbers in tool arguments survive
 * @param earlier the replies before it that ended in a pause (`pausedContent`), in their order
 * @throws GatewayError where the answer is an error, or follows no protocol
 */
export function translateReply(
  plan: AnswerPlan,
  body: unknown,
  context: ReplyContext,
  earlier: readonly unknown[] = [],
): TranslatedReply {
  const { decodeReply } = UPSTREAMS[plan.target.protocol];
  const decoded = [...earlier, body].map((one) => decodeReply(one, plan.target, context.cleanText));
  const reply = restoreReply(decoded.reduce(joinReplies), plan);
  return {
    body: PROTOCOLS[plan.caller].encodeReply(reply, { ...context, plan }),
    usage: reply.usage,
    finish: reply.finish,
  };
}
