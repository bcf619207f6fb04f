import { CallIds } from '../../../neutral/encoding/call-ids.ts';
import { sealPayload } from '../../../neutral/encoding/sealed-reasoning.ts';
import type { OpaquePayload, ReplyPart, ToolCallPart, WebSearchPart } from '../../../neutral/parts.ts';
import type { Reply } from '../../../neutral/reply/reply.ts';
import { isCut } from '../../../neutral/reply/whole-arguments.ts';
import type { AnswerContext } from '../../../neutral/target.ts';
import { parseArguments } from '../../../wire/raw-json.ts';
import { upstreamNonsense } from '../../../wire/read-upstream.ts';
import type { OpaqueTokens } from '../../../wire/tokens/opaque-token.ts';
import type { Usage } from '../../../wire/usage.ts';
import { encodeCitation, sealReference } from './citations.ts';
import { encodeFinish } from './finish-reason.ts';
import { encodeIterations, encodeMessageUsage } from './usage.ts';

export const messageId = ({ replyId, mintId }: AnswerContext): string => replyId ?? mintId('msg_');

export const callIds = ({ mintId, plan }: AnswerContext): CallIds =>
  new CallIds(() => mintId('toolu_'), plan.usedCallIds);

/** A finished answer as a Messages object. @throws GatewayError where the model's tool arguments are no object */
export function encodeMessagesReply(reply: Reply, context: AnswerContext): object {
  const ids = callIds(context);
  const wasCut = isCut(reply.finish.reason);
  const { container, ...ending } = encodeFinish(reply.finish);
  return {
    id: messageId(context),
    type: 'message',
    role: 'assistant',
    model: context.plan.model,
    content: [
      ...compactionBlocks(context),
      ...reply.parts.flatMap((part) => encodeBlocks(part, { ids, wasCut }, context)),
    ],
    ...ending,
    container,
    diagnostics: null,
    usage: {
      ...encodeMessageUsage(reply.usage, reply.serviceTier),
      ...encodeIterations(context.plan, answeredUsage(reply)),
    },
  };
}

/** Null where nothing was answered. */
export const answeredUsage = ({ finish, usage }: Pick<Reply, 'finish' | 'usage'>): Usage | null =>
  finish.reason === 'compaction' ? null : usage;

/** The block that replaces the conversation so far. */
function compactionBlocks({ plan }: AnswerContext): object[] {
  if (plan.compaction === undefined) return [];
  const { summary, encryptedContent, toolChanges } = plan.compaction;
  return [
    {
      type: 'compaction',
      content: summary,
      encrypted_content: encryptedContent,
      tool_changes: toolChanges,
    },
  ];
}

interface State {
  readonly ids: CallIds;
  readonly wasCut: boolean;
}

function encodeBlocks(part: ReplyPart, { ids, wasCut }: State, context: AnswerContext): object[] {
  switch (part.type) {
    case 'text': {
      if (part.text === '') return [];
      const citations = (part.citations ?? []).flatMap(
        (citation) => encodeCitation(citation, part.text, context.tokens) ?? [],
      );
      return [{ type: 'text', text: part.text, citations: citations.length > 0 ? citations : null }];
    }
    case 'refusal':
      return part.text === '' ? [] : [{ type: 'text', text: part.text, citations: null }];
    case 'reasoning': {
      const thinking = part.texts.join('\n\n');
      if (thinking === '') return [hiddenBlock(part.payload, context.tokens) ?? []].flat();
      const signature = thinkingSignature(part.payload, part.texts, part.form, context.tokens);
      return [{ type: 'thinking', thinking, signature }];
    }
    case 'tool-call': {
      const input = part.custom ? { input: part.arguments } : parseArguments(part.arguments);
      if (input === null && !wasCut) throw upstreamNonsense();
      return [callBlock(ids.take(part.id), part, input ?? {})];
    }
    case 'web-search':
      return encodeSearch(part, context);
  }
}

/** A namespace is a toolset here: no other tools of this protocol have one. */
export const callBlock = (
  id: string,
  { name, namespace }: Pick<ToolCallPart, 'name' | 'namespace'>,
  input: object,
): object => ({
  type: 'tool_use',
  id,
  name,
  ...(namespace && { toolset_name: namespace }),
  input,
  caller: { type: 'direct' },
});

/** A search by another vendor as the pair of blocks that Claude shows. */
export function encodeSearch(
  { status, queries, sources }: WebSearchPart,
  { mintId, tokens }: AnswerContext,
): object[] {
  if (queries.length === 0) return [];
  const id = mintId('srvtoolu_');
  const results = sources.map(({ url, title }) => ({
    type: 'web_search_result',
    url,
    title: title ?? url,
    encrypted_content: sealReference(url, tokens),
    page_age: null,
  }));
  const failure = { type: 'web_search_tool_result_error', error_code: 'unavailable' };
  const caller = { type: 'direct' };
  return [
    { type: 'server_tool_use', id, name: 'web_search', input: { query: queries.join(' ') }, caller },
    {
      type: 'web_search_tool_result',
      tool_use_id: id,
      caller,
      content: status === 'completed' ? results : failure,
    },
  ];
}

const isNative = (payload: OpaquePayload): boolean =>
  payload.vendor === 'anthropic' &&
  payload.scope === undefined &&
  (payload.kind === 'signature' || payload.kind === 'redacted');

/**
 * The signature under shown thinking: Claude's own, else a token that remembers whose reasoning it is. The parts of a
 * summary are kept in it, since a thinking block shows them as one text.
 */
export const thinkingSignature = (
  payload: OpaquePayload | undefined,
  texts: readonly string[],
  form: 'summary' | 'trace',
  tokens: OpaqueTokens,
): string => {
  if (payload !== undefined && isNative(payload)) return payload.data;
  const unsealed: OpaquePayload =
    form === 'trace'
      ? { vendor: 'open', kind: 'trace', data: '' }
      : { vendor: 'openai', kind: 'trace', data: '' };
  return sealPayload(tokens, payload ?? unsealed, texts.length > 1 ? texts : undefined);
};

/** The block of reasoning that shows no text; null where there is nothing to keep either. */
export function hiddenBlock(payload: OpaquePayload | undefined, tokens: OpaqueTokens): object | null {
  if (payload === undefined) return null;
  if (!isNative(payload)) return { type: 'redacted_thinking', data: sealPayload(tokens, payload) };
  return payload.kind === 'redacted'
    ? { type: 'redacted_thinking', data: payload.data }
    : { type: 'thinking', thinking: '', signature: payload.data };
}
