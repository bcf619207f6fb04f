import type { Turn } from '../../../neutral/conversation.ts';
import { historyCallId } from '../../../neutral/encoding/call-ids.ts';
import type { Encoder } from '../../../neutral/encoding/encoder.ts';
import { isShown } from '../../../neutral/encoding/part-blocks.ts';
import {
  asSystemText,
  errorText,
  MOVED_TEXT,
  textOf,
  withoutAttribution,
} from '../../../neutral/encoding/plain-text.ts';
import { refusePrefill, settleTurns } from '../../../neutral/encoding/settle-turns.ts';
import type { Part, ReasoningPart, TextPart, ToolCallPart, ToolResultPart } from '../../../neutral/parts.ts';
import { acceptsPayload } from '../../../neutral/target.ts';
import { type ChatPart, encodeShown, textPart } from './encode-content.ts';

export type Message = { readonly role: string; readonly [member: string]: unknown };

const isText = (part: { type: string }): part is TextPart => part.type === 'text';
const isResult = (part: { type: string }): part is ToolResultPart => part.type === 'tool-result';

/** The whole conversation as chat messages, instructions first. */
export function encodeMessages(encoder: Encoder): Message[] {
  const { conversation, target } = encoder;
  const turns = settleTurns(conversation, target);
  refusePrefill(turns, encoder);
  const system = textOf(
    withoutAttribution(conversation.system).filter(({ text }) => text !== ''),
    '\n\n',
  );
  const messages: Message[] = system === '' ? [] : [{ role: target.quirks.instructionRole, content: system }];
  for (const turn of turns) for (const message of encodeTurn(turn, encoder)) messages.push(message);
  return target.quirks.mergeMessages ? mergeNeighbours(messages) : messages;
}

function encodeTurn(turn: Turn, encoder: Encoder): Message[] {
  if (turn.role === 'assistant') return encodeAssistant(turn.parts, encoder);
  if (turn.role === 'system') {
    const text = textOf(turn.parts.filter(isText), '\n\n');
    return encoder.target.quirks.systemMessages === 'first'
      ? [{ role: 'user', content: asSystemText(text) }]
      : [{ role: encoder.target.quirks.instructionRole, content: text }];
  }
  const results = turn.parts.filter(isResult);
  if (results.length > 0) return encodeResults(results, encoder);
  return encodeUser(turn.parts.filter(isShown).flatMap((part) => encodeShown(part, encoder)));
}

function encodeUser(parts: readonly ChatPart[]): Message[] {
  const [only] = parts;
  if (only === undefined) return [];
  const isPlain = parts.length === 1 && only.type === 'text';
  return [{ role: 'user', content: isPlain ? only.text : parts }];
}

/** Tool messages hold text only: what else a tool returned is shown by the user after the last of them. */
function encodeResults(results: readonly ToolResultPart[], encoder: Encoder): Message[] {
  const moved: ChatPart[] = [];
  const messages = results.map((result): Message => {
    const shown = result.content.flatMap((part) => encodeShown(part, encoder));
    const others = shown.filter((part) => part.type !== 'text');
    for (const other of others) moved.push(other);
    const texts = shown.flatMap((part) => (part.type === 'text' ? [String(part.text)] : []));
    const content = [...texts, ...(others.length > 0 ? [MOVED_TEXT] : [])].join('\n');
    return {
      role: 'tool',
      tool_call_id: historyCallId(result.callId, encoder.target.quirks.toolCallIds),
      content: result.isError ? errorText(content) : content,
    };
  });
  return [...messages, ...encodeUser(moved)];
}

function encodeAssistant(parts: readonly Part[], encoder: Encoder): Message[] {
  const calls = parts.filter((part) => part.type === 'tool-call');
  const firstCall = parts.findIndex((part) => part.type === 'tool-call');
  let content = '';
  let refusal = '';
  for (const [index, part] of parts.entries()) {
    if (part.type === 'refusal') refusal += part.text;
    if (part.type !== 'text') continue;
    content += part.text;
    if (firstCall >= 0 && index > firstCall && part.text !== '') {
      encoder.losses.drop(part.at ?? [], 'text after a tool call moves before it');
    }
  }
  if (content === '' && refusal === '' && calls.length === 0) return [];
  return [
    {
      role: 'assistant',
      content: content === '' ? null : content,
      ...(refusal !== '' && { refusal }),
      ...encodeReasoning(
        parts.filter((part) => part.type === 'reasoning'),
        encoder,
      ),
      ...(calls.length > 0 && { tool_calls: calls.map((call) => encodeCall(call, encoder)) }),
    },
  ];
}

function encodeCall(call: ToolCallPart, { names, target }: Encoder): object {
  const id = historyCallId(call.id, target.quirks.toolCallIds);
  const name = names.upstreamName(call);
  if (!call.custom) return { id, type: 'function', function: { name, arguments: call.arguments || '{}' } };
  if (target.quirks.customTools) return { id, type: 'custom', custom: { name, input: call.arguments } };
  return { id, type: 'function', function: { name, arguments: JSON.stringify({ input: call.arguments }) } };
}

/** Servers that demand earlier reasoning want something there even where it is lost, and refuse an empty text. */
const UNKNOWN_REASONING = ' ';

function encodeReasoning(parts: readonly ReasoningPart[], { target, losses, conversation }: Encoder) {
  const { reasoningBack, reasoningMembers } = target.quirks;
  const [member = 'reasoning_content'] = reasoningMembers;
  let text = '';
  for (const { payload, texts, at = [] } of parts) {
    const isOwn = payload?.kind === 'trace' && acceptsPayload(target, payload) && reasoningBack !== 'never';
    if (isOwn) text += texts.join('\n\n');
    else losses.drop(at, "reasoning that is not this upstream's own");
  }
  if (text !== '') return { [member]: text };
  const isThinking = conversation.reasoning.mode !== 'off';
  return reasoningBack === 'required' && isThinking ? { [member]: UNKNOWN_REASONING } : {};
}

/** Tool messages answer one call each, and a turn with calls is answered by them: neither takes anything more. */
const isClosed = (message: Message): boolean => message.role === 'tool' || message.tool_calls !== undefined;

/** Merges consecutive messages of the same role. */
function mergeNeighbours(messages: readonly Message[]): Message[] {
  const merged: Message[] = [];
  let group: Message[] = [];
  const flush = () => {
    if (group.length > 0) merged.push(mergedOf(group));
    group = [];
  };
  for (const message of messages) {
    const last = group.at(-1);
    if (last !== undefined && (last.role !== message.role || isClosed(last))) flush();
    group.push(message);
  }
  flush();
  return merged;
}

function mergedOf(group: readonly Message[]): Message {
  const [first, ...others] = group;
  if (first === undefined || others.length === 0) return first ?? { role: 'user' };
  const contents = group.map(({ content }) => content ?? '');
  const texts = contents.filter((content) => typeof content === 'string');
  const content =
    texts.length === contents.length
      ? texts.filter((text) => text !== '').join('\n\n')
      : contents.flatMap((one): unknown => (typeof one === 'string' ? [textPart(one)] : one));
  return Object.assign({}, ...group, { content });
}
