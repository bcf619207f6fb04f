import { type ChatOutput, ChatReply } from '@gateway/contracts/openai/chat-wire';
import type { ReplyPart } from '../../../neutral/parts.ts';
import type { Reply } from '../../../neutral/reply/reply.ts';
import { isCut } from '../../../neutral/reply/whole-arguments.ts';
import type { Target } from '../../../neutral/target.ts';
import { isObject } from '../../../wire/json-object.ts';
import { decodeServerError } from '../../../wire/openai-errors.ts';
import { readUpstream, upstreamNonsense } from '../../../wire/read-upstream.ts';
import { NO_USAGE } from '../../../wire/usage.ts';
import { decodeAnnotation } from './annotations.ts';
import { decodeFinish } from './finish-reason.ts';
import { argumentsOf, callsOf, contentPieces, nameOf, reasoningOf } from './output.ts';
import { withSpokenChoices } from './spoken-choices.ts';
import { ThinkTags } from './think-tags.ts';
import { readUsage } from './usage.ts';

/** A finished completion from an upstream. @throws GatewayError for an error in its body, or where it is no completion */
export function decodeChatReply(body: unknown, target: Target, clean: (text: string) => string): Reply {
  const reply = readUpstream(ChatReply, isObject(body) ? withSpokenChoices(body, 'message') : body);
  if (reply.error) throw decodeServerError(reply.error, clean);
  const failed = reply.choices?.find(({ error }) => error)?.error;
  if (failed) throw decodeServerError(failed, clean);
  const [choice] = reply.choices ?? [];
  if (!choice?.message) throw upstreamNonsense();
  const { message, finish_reason, logprobs } = choice;
  const calls = decodeCalls(message);
  const refusal: ReplyPart[] = message.refusal ? [{ type: 'refusal', text: message.refusal }] : [];
  const finish = decodeFinish(finish_reason, { calls: calls.length > 0, refusal: refusal.length > 0 });
  return {
    parts: [
      ...decodeTexts(message, logprobs?.content ?? [], target, isCut(finish.reason)),
      ...refusal,
      ...calls,
    ],
    finish,
    usage: readUsage(reply) ?? NO_USAGE,
    ...(reply.service_tier && { serviceTier: reply.service_tier }),
  };
}

function decodeTexts(
  message: ChatOutput,
  logprobs: readonly unknown[],
  { quirks }: Target,
  wasCut: boolean,
): ReplyPart[] {
  // A whole answer shows whether it has a closing tag; one that was cut before it has begun with what the template opened.
  const untagged = wasCut && quirks.thinkTags === 'opened' ? 'thought' : 'unknown';
  const tags = quirks.thinkTags === false ? null : new ThinkTags(untagged);
  const pieces = [...contentPieces(message.content, tags), ...(tags?.end(wasCut) ?? [])];
  const joined = (kind: 'reasoning' | 'text') =>
    pieces.flatMap((piece) => (piece.kind === kind ? [piece.text] : [])).join('');
  const reasoning = reasoningOf(message, quirks) + joined('reasoning');
  const text = joined('text');
  const citations = (message.annotations ?? []).flatMap((annotation) => decodeAnnotation(annotation) ?? []);
  const parts: ReplyPart[] =
    reasoning === '' ? [] : [{ type: 'reasoning', form: 'trace', texts: [reasoning] }];
  if (text === '') return parts;
  const marks = citations.length > 0 ? { citations } : {};
  return [...parts, { type: 'text', text, ...marks, ...(logprobs.length > 0 && { logprobs }) }];
}

const decodeCalls = (message: ChatOutput): ReplyPart[] =>
  callsOf(message).map((call) => ({
    type: 'tool-call',
    id: call.id ?? '',
    name: nameOf(call),
    arguments: argumentsOf(call),
    ...(call.custom && { custom: true }),
  }));
