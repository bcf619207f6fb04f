import { listOf, maybeText } from '@gateway/contracts/json/reply-members';
import type { ChatOutput, ChatOutputPart, ChatToolCallFragment } from '@gateway/contracts/openai/chat-wire';
import { z } from 'zod';
import type { Target } from '../../../neutral/target.ts';
import { isJsonObject } from '../../../wire/raw-json.ts';
import type { ThinkTags, ThoughtPiece } from './think-tags.ts';

const ReasoningDetails = listOf(z.looseObject({ text: maybeText, summary: maybeText }));

/** The reasoning text of a message or a delta, wherever this server puts it; empty where there is none. */
export function reasoningOf(output: ChatOutput, { reasoningMembers }: Target['quirks']): string {
  for (const member of reasoningMembers) {
    const text = output[member];
    if (typeof text === 'string' && text !== '') return text;
  }
  const details = ReasoningDetails.safeParse(output.reasoning_details);
  if (!details.success) return '';
  return details.data.map(({ text, summary }) => text ?? summary ?? '').join('');
}

/** Content as text and reasoning in turn: `<think>` tags and Mistral's `thinking` parts are taken apart. */
export function contentPieces(content: ChatOutput['content'], tags: ThinkTags | null): ThoughtPiece[] {
  if (content === null || content === undefined) return [];
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  return parts.flatMap((part) => partPieces(part, tags)).filter(({ text }) => text !== '');
}

function partPieces(
  { type, text = '', thinking = '' }: ChatOutputPart,
  tags: ThinkTags | null,
): ThoughtPiece[] {
  if (type === 'text' || type === 'output_text')
    return tags === null ? [{ kind: 'text', text }] : tags.push(text);
  if (type !== 'thinking') return [];
  const thought = typeof thinking === 'string' ? thinking : thinking.map((inner) => inner.text).join('');
  return [{ kind: 'reasoning', text: thought }];
}

/** What a fragment adds to a call's arguments: text, or an object that the server has already read for us. */
export function argumentsOf({ function: called, custom }: ChatToolCallFragment): string {
  if (custom) return custom.input ?? '';
  const given = called?.arguments;
  if (given === null || given === undefined) return '';
  return typeof given === 'string' ? given : JSON.stringify(given);
}

/** The calls of a message or a delta that can be passed on; `function_call` is the older form of one. */
export function callsOf({ tool_calls = [], function_call }: ChatOutput): readonly ChatToolCallFragment[] {
  if (tool_calls.length > 0 || !function_call) return tool_calls.filter(isReadable);
  return [{ function: function_call }];
}

/** The same with the arguments that are an object exactly as they were written. */
export function exactCalls(
  calls: readonly ChatToolCallFragment[],
  read: () => readonly ChatToolCallFragment[],
): readonly ChatToolCallFragment[] {
  return calls.some((call) => isJsonObject(call.function?.arguments)) ? read() : calls;
}

export const nameOf = ({ function: called, custom }: ChatToolCallFragment): string =>
  called?.name ?? custom?.name ?? '';

/** Whether a call is of a type that can be passed on; servers leave out the type, or leave it empty. */
const isReadable = ({ type }: ChatToolCallFragment): boolean =>
  !type || type === 'function' || type === 'custom';
