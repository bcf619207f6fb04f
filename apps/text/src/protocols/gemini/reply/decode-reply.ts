import { reportsFailure } from '@gateway/upstream/first-output/reported-error';
import { collectReply } from '../../../neutral/reply/collect-reply.ts';
import type { Reply } from '../../../neutral/reply/reply.ts';
import type { Target } from '../../../neutral/target.ts';
import { decodeFailure } from '../../../wire/openai-errors.ts';
import type { CleanText } from '../../../wire/public-message.ts';
import { AnswerReader } from '../stream/answer-reader.ts';

/** A finished answer from an upstream: a stream of one frame. @throws GatewayError where it is none, or a failure */
export function decodeGeminiReply(body: unknown, target: Target, clean: CleanText): Reply {
  if (reportsFailure(body)) throw decodeFailure(JSON.stringify(body), clean);
  const reader = new AnswerReader(target, clean);
  return collectReply([...reader.frame(body, () => body), ...reader.finish()]);
}
