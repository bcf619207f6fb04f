import type { Reply } from '../../conversation/reply.ts';
import { replyEvents } from '../../conversation/reply-events.ts';
import type { AnswerContext } from '../../conversation/target.ts';
import { ResponseWriter } from './response-writer.ts';

/** A finished answer as a response object: what its stream would have ended with. */
export function encodeResponsesReply(reply: Reply, context: AnswerContext): object {
  const writer = new ResponseWriter(context, () => {});
  for (const event of replyEvents(reply)) writer.write(event);
  return writer.response;
}
