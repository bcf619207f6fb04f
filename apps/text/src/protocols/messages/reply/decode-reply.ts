import { MessagesOutputBlock, MessagesReply } from '@gateway/contracts/anthropic/messages-wire';
import type { OpaquePayload, ReplyPart, SearchSource, WebSearchPart } from '../../../neutral/parts.ts';
import type { Reply } from '../../../neutral/reply/reply.ts';
import type { Target } from '../../../neutral/target.ts';
import { isJsonObject } from '../../../wire/raw-json.ts';
import { readUpstream } from '../../../wire/read-upstream.ts';
import { toolBlocksIn } from '../../../wire/tool-calls.ts';
import { NO_USAGE } from '../../../wire/usage.ts';
import { decodeCitation } from './citations.ts';
import { decodeFinish } from './finish-reason.ts';
import { withBlocks } from './text-blocks.ts';
import { decodeTier, readUsage } from './usage.ts';

/** A finished message from an upstream. @throws GatewayError `upstream_failed` where it is not one */
export function decodeMessagesReply(body: unknown, target: Target): Reply {
  const reply = readUpstream(MessagesReply, withBlocks(body));
  const searches = new Map<string, readonly string[]>();
  const tier = isJsonObject(reply.usage) ? decodeTier(reply.usage.service_tier) : undefined;
  return {
    parts: reply.content.flatMap((block) => decodeBlock(block, searches, target) ?? []),
    finish: decodeFinish(reply, { calls: reply.content.some(({ type }) => type === 'tool_use') }),
    usage: readUsage(reply.usage, toolBlocksIn(reply.content)) ?? NO_USAGE,
    ...(tier && { serviceTier: tier }),
  };
}

type Block = { readonly type: string; readonly [member: string]: unknown };

function decodeBlock(
  block: Block,
  searches: Map<string, readonly string[]>,
  target: Target,
): ReplyPart | null {
  switch (block.type) {
    case 'text': {
      const { text, citations } = readUpstream(MessagesOutputBlock.text, block);
      const marks = (citations ?? []).flatMap((citation) => decodeCitation(citation, text.length) ?? []);
      return { type: 'text', text, ...(marks.length > 0 && { citations: marks }) };
    }
    case 'thinking': {
      const { thinking, signature } = readUpstream(MessagesOutputBlock.thinking, block);
      const payload = signature ? ownPayload('signature', signature, target) : undefined;
      return { type: 'reasoning', form: 'summary', texts: thinking === '' ? [] : [thinking], payload };
    }
    case 'redacted_thinking': {
      const { data } = readUpstream(MessagesOutputBlock.redacted_thinking, block);
      return { type: 'reasoning', form: 'summary', texts: [], payload: ownPayload('redacted', data, target) };
    }
    case 'tool_use': {
      const { id = '', name, input } = readUpstream(MessagesOutputBlock.tool_use, block);
      return { type: 'tool-call', id, name, arguments: argumentsOf(input) || '{}' };
    }
    case 'server_tool_use': {
      const { id = '', input } = readUpstream(MessagesOutputBlock.server_tool_use, block);
      searches.set(id, queriesOf(input));
      return null;
    }
    case 'web_search_tool_result':
      return decodeSearchResult(block, searches);
    default:
      return null;
  }
}

/** The text of a call's input; empty where there is none. Some servers write the text itself. */
export function argumentsOf(input: unknown): string {
  if (typeof input === 'string') return input;
  return isJsonObject(input) && Object.keys(input).length > 0 ? JSON.stringify(input) : '';
}

/** A seal that this upstream made. */
export const ownPayload = (kind: 'signature' | 'redacted', data: string, target: Target): OpaquePayload => ({
  vendor: target.vendor,
  kind,
  data,
  ...(target.vendor === 'openai' && { scope: target.scope }),
});

export const queriesOf = (input: unknown): readonly string[] =>
  isJsonObject(input) && typeof input.query === 'string' ? [input.query] : [];

/** The result block of a search, joined with the queries of its call. */
export function decodeSearchResult(
  block: Block,
  searches: ReadonlyMap<string, readonly string[]>,
): WebSearchPart {
  const { tool_use_id: id = '', content } = readUpstream(MessagesOutputBlock.web_search_tool_result, block);
  const sources = (content ?? []).map(({ url, title }): SearchSource => ({ url, ...(title && { title }) }));
  return {
    type: 'web-search',
    status: content === undefined ? 'failed' : 'completed',
    queries: searches.get(id) ?? [],
    sources,
  };
}
