import { MessagesRequestWire } from '@gateway/contracts/anthropic/messages-wire';
import type { Conversation, OutputFormat, ReasoningControl } from '../../../neutral/conversation.ts';
import { readEffort } from '../../../neutral/encoding/effort.ts';
import type { TextPart } from '../../../neutral/parts.ts';
import { RequestReader } from '../../../neutral/request-reader.ts';
import type { OpaqueTokens } from '../../../wire/tokens/opaque-token.ts';
import { decodeContent } from './decode-content.ts';
import { decodeTool, decodeToolChoice } from './decode-tools.ts';

/** A Messages request, brought into neutral form. @throws GatewayError where it is not one */
export function decodeMessagesRequest(body: unknown, tokens: OpaqueTokens): Conversation {
  const reader = new RequestReader('messages');
  const request = reader.read(MessagesRequestWire, body);
  const tools = (request.tools ?? []).flatMap((tool, index) => decodeTool(tool, ['tools', index], reader));
  const parallel = request.tool_choice?.disable_parallel_tool_use;
  const conversation: Omit<Conversation, 'untranslatable' | 'otherNames'> = {
    source: 'messages',
    system: decodeSystem(request.system),
    turns: request.messages.map(({ role, content }, index) => {
      const at = ['messages', index];
      return { role, at, parts: decodeContent(content, [...at, 'content'], { role, tokens, reader }) };
    }),
    tools,
    ...(request.tool_choice && { toolChoice: decodeToolChoice(request.tool_choice, tools) }),
    ...(typeof parallel === 'boolean' && { parallelToolCalls: !parallel }),
    sampling: {
      ...(typeof request.temperature === 'number' && { temperature: request.temperature }),
      ...(typeof request.top_p === 'number' && { topP: request.top_p }),
      ...(typeof request.top_k === 'number' && { topK: request.top_k }),
    },
    stopSequences: request.stop_sequences ?? [],
    ...(request.max_tokens !== undefined && { maxOutputTokens: request.max_tokens }),
    ...(request.output_config?.format && { outputFormat: decodeFormat(request.output_config.format) }),
    reasoning: decodeReasoning(request, reader),
    ...(request.metadata?.user_id && { userId: request.metadata.user_id }),
    ...(request.service_tier && { serviceTier: decodeTierWish(request.service_tier) }),
    stream: request.stream ?? false,
  };
  reportMembers(request, reader);
  const otherNames = request.output_config?.effort ? { reasoning: ['output_config', 'effort'] } : {};
  return { ...conversation, untranslatable: reader.list, otherNames };
}

function decodeSystem(system: MessagesRequestWire['system']): TextPart[] {
  if (typeof system === 'string')
    return system === '' ? [] : [{ type: 'text', text: system, at: ['system'] }];
  return (system ?? []).map(({ text }, index) => ({ type: 'text', text, at: ['system', index] }));
}

/** The gateway's `auto` and `default` are Anthropic's `auto` and `standard_only`. */
const decodeTierWish = (tier: string): string => (tier === 'standard_only' ? 'default' : tier);

const decodeFormat = ({ schema }: { schema: { [member: string]: unknown } }): OutputFormat => ({
  type: 'schema',
  schema,
  strict: true,
});

const MODES = {
  enabled: 'manual',
  adaptive: 'adaptive',
  disabled: 'off',
  between_tools: 'between-tools',
} as const;

function decodeReasoning(
  { thinking, output_config }: MessagesRequestWire,
  reader: RequestReader,
): ReasoningControl {
  const effort = readEffort(output_config?.effort);
  if (output_config?.effort && effort === undefined)
    reader.drop(['output_config', 'effort'], 'an effort that no other protocol knows');
  if (effort && thinking?.type === 'disabled')
    reader.drop(['output_config', 'effort'], 'there is no thinking to steer');
  if (effort && thinking?.type === 'enabled' && thinking.budget_tokens)
    reader.drop(['thinking', 'budget_tokens'], 'the effort counts');
  return {
    ...(thinking && { mode: MODES[thinking.type] }),
    ...(effort && { effort }),
    ...decodeThinking(thinking, reader),
  };
}

const SUMMARIES: ReadonlyMap<string, ReasoningControl['summary']> = new Map([
  ['omitted', 'omitted'],
  ['summarized', 'auto'],
]);

/** How much is thought at the most, and what of it is shown. */
function decodeThinking(
  thinking: MessagesRequestWire['thinking'],
  reader: RequestReader,
): Pick<ReasoningControl, 'budgetTokens' | 'summary'> {
  if (thinking?.type !== 'enabled' && thinking?.type !== 'adaptive') return {};
  const { display } = thinking;
  const summary = display ? SUMMARIES.get(display) : undefined;
  if (display && summary === undefined)
    reader.drop(['thinking', 'display'], 'a way to show thinking that no other protocol knows');
  return {
    ...(thinking.type === 'enabled' && thinking.budget_tokens && { budgetTokens: thinking.budget_tokens }),
    ...(summary && { summary }),
  };
}

function reportMembers(request: MessagesRequestWire, reader: RequestReader): void {
  if (request.mcp_servers?.length) {
    reader.refuse(['mcp_servers'], 'MCP servers are not available for this model.');
  }
  if (typeof request.container === 'object' && request.container?.skills?.length) {
    reader.refuse(['container', 'skills'], 'Skills are not available for this model.');
  } else if (request.container) reader.drop(['container'], 'known to the messages protocol only');
}
