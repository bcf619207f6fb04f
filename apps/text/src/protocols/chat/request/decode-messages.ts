import { ChatContentPart, type ChatMessage } from '@gateway/contracts/openai/chat-wire';
import { type ContentPart, decodeSource, resultContent } from '../../../neutral/content.ts';
import type { Turn } from '../../../neutral/conversation.ts';
import { openReasoning } from '../../../neutral/encoding/sealed-reasoning.ts';
import type { Part, ReasoningPart, TextPart } from '../../../neutral/parts.ts';
import type { RequestReader } from '../../../neutral/request-reader.ts';
import type { Path } from '../../../wire/path.ts';
import type { OpaqueTokens } from '../../../wire/tokens/opaque-token.ts';

type Content = string | readonly ChatContentPart[] | null | undefined;

type ToolCall = NonNullable<(ChatMessage & { role: 'assistant' })['tool_calls']>[number];

const nameOf = (call: ToolCall): string => (call.type === 'function' ? call.function.name : call.custom.name);

const SHOWN_PARTS: ReadonlySet<string> = new Set(
  ChatContentPart.options.map(({ shape }) => shape.type.value),
);

const isText = (part: { type: string }): part is TextPart => part.type === 'text';

/** The turns so far; instructions before the first turn are kept apart. */
export interface DecodedMessages {
  readonly system: readonly TextPart[];
  readonly turns: readonly Turn[];
}

export function decodeMessages(
  messages: readonly ChatMessage[],
  tokens: OpaqueTokens,
  reader: RequestReader,
): DecodedMessages {
  const system: TextPart[] = [];
  const turns: Turn[] = [];
  /** The names of the tools that were called, by the calls' ids. */
  const called = new Map<string, string>();
  for (const [index, message] of messages.entries()) {
    const at = ['messages', index];
    switch (message.role) {
      case 'system':
      case 'developer': {
        const parts = textsOf(decodeContent(message.content, [...at, 'content'], reader), reader);
        if (turns.length === 0) system.push(...parts);
        else turns.push({ role: 'system', parts, at });
        break;
      }
      case 'user':
        turns.push({ role: 'user', parts: decodeContent(message.content, [...at, 'content'], reader), at });
        break;
      case 'assistant':
        for (const call of message.tool_calls ?? []) called.set(call.id, nameOf(call));
        turns.push({ role: 'assistant', parts: decodeAssistant(message, at, tokens, reader), at });
        break;
      case 'tool':
        turns.push({ role: 'user', parts: [decodeResult(message, at, called, reader)], at });
        break;
    }
  }
  return { system, turns };
}

/** Instructions can only be text. */
function textsOf(parts: readonly Part[], reader: RequestReader): TextPart[] {
  for (const part of parts) {
    if (!isText(part)) reader.refuse(part.at ?? [], 'Instructions can only be text for this model.');
  }
  return parts.filter(isText);
}

function decodeContent(content: Content, at: Path, reader: RequestReader): ContentPart[] {
  if (content === null || content === undefined || content === '') return [];
  if (typeof content === 'string') return [{ type: 'text', text: content, at }];
  return content.map((part, index) => decodePart(part, [...at, index], reader));
}

function decodePart(part: ChatContentPart, at: Path, reader: RequestReader): ContentPart {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text, at };
    case 'refusal':
      return { type: 'refusal', text: part.refusal, at };
    case 'image_url': {
      const { url, detail } = part.image_url;
      const path = [...at, 'image_url'];
      const source = decodeSource({ url }, path, reader);
      return { type: 'image', source, at: path, ...(detail && { detail }) };
    }
    case 'input_audio':
      return { type: 'audio', data: part.input_audio.data, format: part.input_audio.format, at };
    case 'file': {
      const { file_data, file_id, filename } = part.file;
      const source = decodeSource({ file_data, file_id }, [...at, 'file'], reader);
      return { type: 'document', source, at, ...(filename && { title: filename }) };
    }
  }
}

function decodeResult(
  message: ChatMessage & { role: 'tool' },
  at: Path,
  called: ReadonlyMap<string, string>,
  reader: RequestReader,
): Part {
  const { tool_call_id: callId, name } = message;
  if (name && name !== called.get(callId)) reader.drop([...at, 'name'], 'not the name of the tool called');
  const content = resultContent(decodeContent(message.content, [...at, 'content'], reader), reader);
  return { type: 'tool-result', callId, content, at };
}

function decodeAssistant(
  message: ChatMessage & { role: 'assistant' },
  at: Path,
  tokens: OpaqueTokens,
  reader: RequestReader,
): Part[] {
  if (message.audio) reader.drop([...at, 'audio'], 'what a model has spoken is known to its provider only');
  if (message.function_call)
    reader.refuse(
      [...at, 'function_call'],
      "'function_call' was replaced by 'tool_calls' and is not supported here.",
    );
  const calls = (message.tool_calls ?? []).map((call, index): Part => {
    const path = { type: 'tool-call', id: call.id, at: [...at, 'tool_calls', index] } as const;
    const name = nameOf(call);
    return call.type === 'function'
      ? { ...path, name, arguments: call.function.arguments }
      : { ...path, name, arguments: call.custom.input, custom: true };
  });
  const refusal: Part[] = message.refusal
    ? [{ type: 'refusal', text: message.refusal, at: [...at, 'refusal'] }]
    : [];
  const content = decodeAnswer(message.content, [...at, 'content'], reader);
  return [...decodeReasoning(message, at, tokens, reader), ...content, ...refusal, ...calls];
}

/** What an earlier answer says; a part of its maker's own is left out. */
function decodeAnswer(
  content: (ChatMessage & { role: 'assistant' })['content'],
  at: Path,
  reader: RequestReader,
): ContentPart[] {
  if (!Array.isArray(content)) return decodeContent(content, at, reader);
  return content.flatMap((part, index) => {
    const path = [...at, index];
    if (SHOWN_PARTS.has(part.type))
      return [decodePart(reader.read(ChatContentPart, part, path), path, reader)];
    reader.drop(path, 'what only its own provider knows cannot be shown');
    return [];
  });
}

/** Reasoning comes back as the gateway showed it: entries with a seal, or the plain trace of an open-weight model. */
function decodeReasoning(
  message: ChatMessage & { role: 'assistant' },
  at: Path,
  tokens: OpaqueTokens,
  reader: RequestReader,
): ReasoningPart[] {
  const trace = { vendor: 'open', kind: 'trace' } as const;
  const sealed = (message.reasoning_details ?? []).flatMap((detail, index) => {
    const seal = detail.signature ?? detail.data;
    const path = [...at, 'reasoning_details', index];
    if (!seal) {
      reader.drop(path, 'reasoning without the seal of its vendor');
      return [];
    }
    const texts = detail.text ? [detail.text] : [];
    return [openReasoning({ texts, form: 'trace', at: path }, seal, trace, tokens)];
  });
  if (sealed.length > 0 || !message.reasoning_content) return sealed;
  const texts = [message.reasoning_content];
  const path = [...at, 'reasoning_content'];
  return [{ type: 'reasoning', form: 'trace', texts, payload: { ...trace, data: '' }, at: path }];
}
