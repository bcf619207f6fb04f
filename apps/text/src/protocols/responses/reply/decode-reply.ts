import { ResponsesOutputItem, ResponsesReply } from '@gateway/contracts/openai/responses-wire';
import type { OpaquePayload, ReplyPart, WebSearchPart } from '../../../conversation/parts.ts';
import type { Reply } from '../../../conversation/reply/reply.ts';
import type { Target } from '../../../conversation/target.ts';
import { decodeOpenAiError } from '../../../wire/openai-errors.ts';
import { readUpstream, upstreamCutOff } from '../../../wire/read-upstream.ts';
import { NO_USAGE } from '../../../wire/usage.ts';
import { decodeAnnotation } from './annotations.ts';
import { decodeFinish } from './finish-reason.ts';
import { readUsage } from './usage.ts';

/** A finished response from an upstream. @throws GatewayError where it failed, or is no response */
export function decodeResponsesReply(body: unknown, target: Target, clean: (text: string) => string): Reply {
  const reply = readUpstream(ResponsesReply, body);
  if (reply.status === 'failed') throw decodeOpenAiError(reply.error, clean);
  if (reply.status !== 'completed' && reply.status !== 'incomplete') throw upstreamCutOff();
  const parts = (reply.output ?? []).flatMap((item) => decodeItem(item, target));
  const has = (type: ReplyPart['type']) => parts.some((part) => part.type === type);
  return {
    parts,
    finish: decodeFinish(reply, { calls: has('tool-call'), refusal: has('refusal') }),
    usage: readUsage(reply, parts.filter(({ type }) => type === 'web-search').length) ?? NO_USAGE,
    ...(reply.service_tier && { serviceTier: reply.service_tier }),
  };
}

type Item = { readonly type: string; readonly [member: string]: unknown };

function decodeItem(item: Item, target: Target): ReplyPart[] {
  switch (item.type) {
    case 'message': {
      const { content } = readUpstream(ResponsesOutputItem.message, item);
      return content.map((part) => {
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
    case 'function_call': {
      const {
        call_id: id = '',
        name,
        arguments: text = '',
        namespace,
      } = readUpstream(ResponsesOutputItem.function_call, item);
      return [{ type: 'tool-call', id, name, arguments: text, ...(namespace && { namespace }) }];
    }
    case 'custom_tool_call': {
      const {
        call_id: id = '',
        name,
        input = '',
        namespace,
      } = readUpstream(ResponsesOutputItem.custom_tool_call, item);
      return [
        { type: 'tool-call', id, name, arguments: input, custom: true, ...(namespace && { namespace }) },
      ];
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
