import { ResponsesOutputItem, ResponsesReply } from '@gateway/contracts/openai/responses-wire';
import type { OpaquePayload, ReplyPart, WebSearchPart } from '../../../neutral/parts.ts';
import type { Reply } from '../../../neutral/reply/reply.ts';
import type { Target } from '../../../neutral/target.ts';
import { decodeOpenAiError } from '../../../wire/openai-errors.ts';
import { isJsonObject } from '../../../wire/raw-json.ts';
import { readUpstream, upstreamCutOff } from '../../../wire/read-upstream.ts';
import { NO_USAGE } from '../../../wire/usage.ts';
import { decodeAnnotation } from './annotations.ts';
import { decodeFinish } from './finish-reason.ts';
import { readUsage } from './usage.ts';

/** A finished response from an upstream. @throws GatewayError where it failed, or is no response */
export function decodeResponsesReply(body: unknown, target: Target, clean: (text: string) => string): Reply {
  const reply = readUpstream(ResponsesReply, body);
  // Some servers send no status, but no answer is without an output.
  const status = reply.status?.toLowerCase() ?? (reply.output ? 'completed' : '');
  if (status === 'failed' || status === 'cancelled' || reply.error)
    throw decodeOpenAiError(reply.error, clean);
  if (status !== 'completed' && status !== 'incomplete') throw upstreamCutOff();
  const parts = outputOf(reply).flatMap((item) => decodeItem(item, target));
  const has = (type: ReplyPart['type']) => parts.some((part) => part.type === type);
  return {
    parts,
    finish: decodeFinish({ ...reply, status }, { calls: has('tool-call'), refusal: has('refusal') }),
    usage: readUsage(reply) ?? NO_USAGE,
    ...(reply.service_tier && { serviceTier: reply.service_tier }),
  };
}

type Item = { readonly type: string; readonly [member: string]: unknown };

function decodeItem(item: Item, target: Target): ReplyPart[] {
  switch (item.type) {
    case 'message': {
      return contentOf(item).map((part) => {
        if (part.type === 'refusal') return { type: 'refusal', text: part.refusal };
        const citations = (part.annotations ?? []).flatMap(
          (annotation) => decodeAnnotation(annotation) ?? [],
        );
        return {
          type: 'text',
          text: part.text,
          ...(citations.length > 0 && { citations }),
          ...(part.logprobs?.length && { logprobs: part.logprobs }),
        };
      });
    }
    case 'function_call':
    case 'custom_tool_call': {
      const { call_id: id = '', name, namespace } = readUpstream(ResponsesOutputItem[item.type], item);
      const call = { type: 'tool-call', id, name, arguments: argumentsOf(item) } as const;
      const custom = item.type === 'custom_tool_call' && { custom: true };
      return [{ ...call, ...custom, ...(namespace && { namespace }) }];
    }
    case 'reasoning': {
      const { summary, content } = readUpstream(ResponsesOutputItem.reasoning, item);
      const form = content?.length ? 'trace' : 'summary';
      const texts = ((form === 'trace' ? content : summary) ?? []).map(({ text }) => text);
      const payload = sealOf(item, target);
      return [{ type: 'reasoning', form, texts, ...(payload && { payload }) }];
    }
    case 'web_search_call':
      return [decodeSearch(item)];
    default:
      return [];
  }
}

/** The items of an answer. Some servers write its text beside them, where clients would gather it. */
export function outputOf({ output = [], output_text: text }: ResponsesReply): readonly Item[] {
  const isMissing = text !== undefined && text !== '' && !output.some(({ type }) => type === 'message');
  return isMissing ? [...output, { type: 'message', content: text }] : output;
}

/** The content of a message: a list of parts, or one part or a text where a server writes it so. */
export function contentOf(item: Partial<Item>) {
  const { content } = item;
  const only = typeof content === 'string' ? { type: 'output_text', text: content } : content;
  const parts = isJsonObject(only) ? [only] : only;
  return readUpstream(ResponsesOutputItem.message, {
    type: 'message',
    content: Array.isArray(parts) ? parts : [],
  }).content;
}

/** What a call is given: text, or an object from a server that has already read it. */
export function argumentsOf(item: Item): string {
  const given = item.type === 'custom_tool_call' ? item.input : item.arguments;
  if (typeof given === 'string') return given;
  return isJsonObject(given) ? JSON.stringify(given) : '';
}

/** The sealed content of a reasoning item, bound to the organisation that it came from. */
export function sealOf(item: Item, target: Target): OpaquePayload | undefined {
  const { encrypted_content: data } = readUpstream(ResponsesOutputItem.reasoning, item);
  if (!data) return undefined;
  return { vendor: target.vendor, scope: target.scope, kind: 'encrypted', data };
}

/** Opening a page that a search found is a step of its own, without a query. */
export function decodeSearch(item: Item): WebSearchPart {
  const { status, action } = readUpstream(ResponsesOutputItem.web_search_call, item);
  const queries = action?.queries?.length ? action.queries : action?.query ? [action.query] : [];
  return {
    type: 'web-search',
    status: status === 'failed' ? 'failed' : 'completed',
    queries,
    sources: (action?.sources ?? []).map(({ url }) => ({ url })),
  };
}
