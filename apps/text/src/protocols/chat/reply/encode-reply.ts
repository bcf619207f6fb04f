import { CallIds } from '../../../neutral/encoding/call-ids.ts';
import { sealPayload } from '../../../neutral/encoding/sealed-reasoning.ts';
import type {
  Citation,
  OpaquePayload,
  ReasoningPart,
  ReplyPart,
  ToolCallPart,
} from '../../../neutral/parts.ts';
import { REFUSAL_TEXT, type Reply } from '../../../neutral/reply/reply.ts';
import { isCut } from '../../../neutral/reply/whole-arguments.ts';
import type { AnswerContext } from '../../../neutral/target.ts';
import type { OpaqueTokens } from '../../../wire/tokens/opaque-token.ts';
import { encodeAnnotation } from './annotations.ts';
import { encodeFinish } from './finish-reason.ts';
import { encodeUsage } from './usage.ts';

export const completionId = ({ replyId, mintId }: AnswerContext): string => replyId ?? mintId('chatcmpl-');

/** A finished answer as a chat completion. */
export function encodeChatReply(reply: Reply, context: AnswerContext): object {
  const textsOf = (type: 'text' | 'refusal') =>
    reply.parts.flatMap((part) => (part.type === type && 'text' in part ? [part.text] : [])).join('');
  const content = textsOf('text');
  const calls = reply.parts.filter((part) => part.type === 'tool-call');
  const isSilent = reply.finish.reason === 'refusal' && content === '' && calls.length === 0;
  const refusal = textsOf('refusal') || (isSilent ? (reply.finish.explanation ?? REFUSAL_TEXT) : '');
  const logprobs = reply.parts.flatMap((part) => (part.type === 'text' ? (part.logprobs ?? []) : []));
  const annotations = encodeAnnotations(reply.parts);
  const ids = new CallIds(() => context.mintId('call_'), context.plan.usedCallIds);
  return {
    id: completionId(context),
    object: 'chat.completion',
    created: context.nowSeconds(),
    model: context.plan.model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: content === '' && (calls.length > 0 || refusal !== '') ? null : content,
          refusal: refusal === '' ? null : refusal,
          ...encodeReasoning(reply.parts, context),
          ...(annotations.length > 0 && { annotations }),
          ...(calls.length > 0 && {
            tool_calls: calls.map((call) => encodeCall(call, ids, isCut(reply.finish.reason))),
          }),
        },
        logprobs: logprobs.length > 0 ? { content: logprobs, refusal: null } : null,
        finish_reason: encodeFinish(reply.finish, refusal !== ''),
      },
    ],
    usage: encodeUsage(reply.usage),
    service_tier: reply.serviceTier ?? 'default',
    system_fingerprint: null,
  };
}

/** A call without arguments has an empty object, unless it was cut before them. */
function encodeCall(call: ToolCallPart, ids: CallIds, wasCut: boolean): object {
  const id = ids.take(call.id);
  const { name, custom, arguments: text } = call;
  return custom
    ? { id, type: 'custom', custom: { name, input: text } }
    : { id, type: 'function', function: { name, arguments: text === '' && !wasCut ? '{}' : text } };
}

function encodeAnnotations(parts: readonly ReplyPart[]): object[] {
  let base = 0;
  return parts.flatMap((part) => {
    if (part.type !== 'text') return [];
    const start = base;
    base += part.text.length;
    return (part.citations ?? []).flatMap((citation: Citation) => encodeAnnotation(citation, start) ?? []);
  });
}

/** Chat has no reasoning of its own: it is shown where chat-compatible servers show it, with its seal beside it. */
function encodeReasoning(parts: readonly ReplyPart[], { tokens }: AnswerContext): object {
  const reasoning = parts.filter((part): part is ReasoningPart => part.type === 'reasoning');
  const text = reasoning.flatMap(({ texts }) => texts.filter((shown) => shown !== '')).join('\n\n');
  const details = reasoning.flatMap(({ payload, texts }) => reasoningDetail(payload, texts, tokens) ?? []);
  return {
    ...(text !== '' && { reasoning_content: text }),
    ...(details.length > 0 && { reasoning_details: details }),
  };
}

/**
 * Sealed reasoning as an entry of `reasoning_details`, the member in which chat-compatible servers show it and take it
 * back. Its text is in the token: chat shows all reasoning as one text, which cannot be taken apart again. Null for
 * plain traces, which have no seal.
 */
export const reasoningDetail = (
  payload: OpaquePayload | undefined,
  texts: readonly string[],
  tokens: OpaqueTokens,
): object | null =>
  payload === undefined
    ? null
    : {
        type: 'reasoning.encrypted',
        data: sealPayload(
          tokens,
          payload,
          texts.filter((text) => text !== ''),
        ),
      };
