import { type ChatOutput, ChatReply } from '@gateway/contracts/openai/chat-wire';
import type { ReplyPart } from '../../../conversation/parts.ts';
import type { Reply } from '../../../conversation/reply/reply.ts';
import type { Target } from '../../../conversation/target.ts';
import { readUpstream, upstreamNonsense } from '../../../wire/read-upstream.ts';
import { NO_USAGE } from '../../../wire/usage.ts';
import { decodeAnnotation } from './annotations.ts';
import { decodeChatError } from './errors.ts';
import { decodeFinish } from './finish-reason.ts';
import { argumentsOf, contentPieces, isReadable, nameOf, reasoningOf } from './output.ts';
import { ThinkTags } from './think-tags.ts';
import { readUsage } from './usage.ts';

/** A finished completion from an upstream. @throws GatewayError for an error in its body, or where it is no completion */
export function decodeChatReply(body: unknown, target: Target, clean: (text: string) => string): Reply {
  const reply = readUpstream(ChatReply, body);
  if (reply.error) throw decodeChatError(reply.error, clean);
  const [choice] = reply.choices ?? [];
  if (!choice?.message) throw upstreamNonsense();
  const { message, finish_reason, logprobs } = choice;
  const calls = decodeCalls(message);
  const refusal: ReplyPart[] = message.refusal ? [{ type: 'refusal', text: message.refusal }] : [];
  return {
    parts: [...decodeTexts(message, logprobs?.content ?? [], target), ...refusal, ...calls],
    finish: decodeFinish(finish_reason, { calls: calls.length > 0, refusal: refusal.length > 0 }),
    usage: readUsage(reply) ?? NO_USAGE,
    ...(reply.service_tier && { serviceTier: reply.service_tier }),
  };
}

function decodeTexts(message: ChatOutput, logprobs: readonly unknown[], target: Target): ReplyPart[] {
  const tags = target.quirks.thinkTags ? new ThinkTags() : null;
  const pieces = [...contentPieces(message.content, tags), ...(tags?.end() ?? [])];
  const joined = (kind: 'reasoning' | 'text') =>
    pieces.flatMap((piece) => (piece.kind === kind ? [piece.text] : [])).join('');
  const reasoning = reasoningOf(message, target) + joined('reasoning');
  const text = joined('text');
  const citations = (message.annotations ?? []).flatMap((annotation) => decodeAnnotation(annotation) ?? []);
  const parts: ReplyPart[] =
    reasoning === '' ? [] : [{ type: 'reasoning', form: 'trace', texts: [reasoning] }];
  if (text === '') return parts;
  const marks = citations.length > 0 ? { citations } : {};
  return [...parts, { type: 'text', text, ...marks, ...(logprobs.length > 0 && { logprobs }) }];
}

const decodeCalls = (message: ChatOutput): ReplyPart[] =>
  (message.tool_calls ?? []).filter(isReadable).map((call) => ({
    type: 'tool-call',
    id: call.id ?? '',
    name: nameOf(call),
    arguments: argumentsOf(call),
    ...(call.custom && { custom: true }),
  }));
