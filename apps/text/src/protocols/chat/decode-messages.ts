import type { ChatContentPart, ChatMessage } from '@gateway/contracts/openai/chat-wire';
import type { Turn } from '../conversation/conversation.ts';
import type { Part, ReasoningPart, ResultContent, TextPart } from '../conversation/parts.ts';
import type { Path } from '../conversation/path.ts';
import { openReasoning } from '../conversation/sealed-reasoning.ts';
import type { Unsaid } from '../conversation/unsaid.ts';
import type { OpaqueTokens } from '../opaque-token.ts';
import { decodeSource } from '../responses/decode-content.ts';

type Content = string | readonly ChatContentPart[] | null | undefined;

const isText = (part: { type: string }): part is TextPart => part.type === 'text';

/** What was said so far; instructions before the first turn stand apart. */
export interface DecodedMessages {
  readonly system: readonly TextPart[];
  readonly turns: readonly Turn[];
}

export function decodeMessages(
  messages: readonly ChatMessage[],
  tokens: OpaqueTokens,
  unsaid: Unsaid,
): DecodedMessages {
  const system: TextPart[] = [];
  const turns: Turn[] = [];
  for (const [index, message] of messages.entries()) {
    const at = ['messages', index];
    unsaid.dropPresent(message, ['name'], at, 'names of participants are not carried');
    switch (message.role) {
      case 'system':
      case 'developer': {
        const parts = decodeContent(message.content, [...at, 'content'], unsaid).filter(isText);
        if (turns.length === 0) system.push(...parts);
        else turns.push({ role: 'system', parts, at });
        break;
      }
      case 'user':
        turns.push({ role: 'user', parts: decodeContent(message.content, [...at, 'content'], unsaid), at });
        break;
      case 'assistant':
        turns.push({ role: 'assistant', parts: decodeAssistant(message, at, tokens, unsaid), at });
        break;
      case 'tool':
        turns.push({ role: 'user', parts: [decodeResult(message, at, unsaid)], at });
        break;
    }
  }
  return { system, turns };
}

function decodeContent(content: Content, at: Path, unsaid: Unsaid): Part[] {
  if (content === null || content === undefined || content === '') return [];
  if (typeof content === 'string') return [{ type: 'text', text: content, at }];
  return content.map((part, index) => decodePart(part, [...at, index], unsaid));
}

function decodePart(part: ChatContentPart, at: Path, unsaid: Unsaid): Part {
  unsaid.dropPresent(
    part,
    ['prompt_cache_breakpoint', 'cache_control'],
    at,
    'prompt caches are steered differently elsewhere',
  );
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text, at };
    case 'refusal':
      return { type: 'refusal', text: part.refusal, at };
    case 'image_url': {
      const { url, detail } = part.image_url;
      const source = decodeSource({ fileId: null, address: url }, [...at, 'image_url', 'url']);
      return { type: 'image', source, at, ...(detail && { detail }) };
    }
    case 'input_audio':
      return { type: 'audio', data: part.input_audio.data, format: part.input_audio.format, at };
    case 'file': {
      const { file_id: fileId, file_data: address, filename } = part.file;
      const source = decodeSource({ fileId, address }, [...at, 'file']);
      return { type: 'document', source, at, ...(filename && { title: filename }) };
    }
  }
}

function decodeResult(message: ChatMessage & { role: 'tool' }, at: Path, unsaid: Unsaid): Part {
  const parts = decodeContent(message.content, [...at, 'content'], unsaid);
  const content: ResultContent[] = parts.filter(isText);
  return { type: 'tool-result', callId: message.tool_call_id, content, at };
}

function decodeAssistant(
  message: ChatMessage & { role: 'assistant' },
  at: Path,
  tokens: OpaqueTokens,
  unsaid: Unsaid,
): Part[] {
  for (const member of ['audio', 'function_call']) {
    if (message[member])
      unsaid.refuse([...at, member], `'${member}' is not supported by the model that would answer.`);
  }
  const calls = (message.tool_calls ?? []).map((call, index): Part => {
    const place = { type: 'tool-call', id: call.id, at: [...at, 'tool_calls', index] } as const;
    return call.type === 'function'
      ? { ...place, name: call.function.name, arguments: call.function.arguments }
      : { ...place, name: call.custom.name, arguments: call.custom.input, custom: true };
  });
  const refusal: Part[] = message.refusal
    ? [{ type: 'refusal', text: message.refusal, at: [...at, 'refusal'] }]
    : [];
  const content = decodeContent(message.content, [...at, 'content'], unsaid);
  return [...decodeReasoning(message, at, tokens), ...content, ...refusal, ...calls];
}

/** Reasoning comes back as the gateway showed it: entries with a seal, or the plain trace of an open-weight model. */
function decodeReasoning(
  message: ChatMessage & { role: 'assistant' },
  at: Path,
  tokens: OpaqueTokens,
): ReasoningPart[] {
  const trace = { vendor: 'open', kind: 'trace' } as const;
  const sealed = (message.reasoning_details ?? []).flatMap((detail, index) => {
    const seal = detail.signature ?? detail.data;
    if (!seal) return [];
    const texts = detail.text ? [detail.text] : [];
    const place = [...at, 'reasoning_details', index];
    return [openReasoning({ texts, form: 'trace', at: place }, seal, trace, tokens)];
  });
  if (sealed.length > 0 || !message.reasoning_content) return sealed;
  const texts = [message.reasoning_content];
  const place = [...at, 'reasoning_content'];
  return [{ type: 'reasoning', form: 'trace', texts, payload: { ...trace, data: '' }, at: place }];
}
