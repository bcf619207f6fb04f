import { isObject, type JsonObject } from '@gateway/contracts/json/json-object';
import { finishReason } from '../gen-ai.ts';

/**
 * One part of a message as the conventions write it. Those that have no form there keep their protocol's own type.
 *
 * @see https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/gen-ai-input-messages.json
 */
interface Part {
  readonly type: string;
  readonly [member: string]: unknown;
}

interface Message {
  readonly role: string;
  readonly parts: readonly Part[];
  readonly finish_reason?: string;
}

/** What a request and its answer say, in whichever protocol their bodies are. */
export interface ContentMessages {
  readonly input: readonly Message[];
  readonly output: readonly Message[];
  readonly system: readonly Part[];
  readonly tools: readonly unknown[];
}

export function contentMessages(request: unknown, answer: unknown): ContentMessages {
  const asked = isObject(request) ? request : {};
  const all = inputOf(asked);
  const isSystem = ({ role }: Message) => role === 'system' || role === 'developer';
  return {
    input: all.filter((message) => !isSystem(message)),
    output: isObject(answer) ? outputOf(answer) : [],
    system: [
      ...partsOf(
        asked.instructions ?? asked.system ?? asked.systemInstruction ?? asked.system_instruction ?? [],
      ),
      ...all.filter(isSystem).flatMap(({ parts }) => parts),
    ],
    tools: listOf(asked.tools),
  };
}

/** Chat and Messages have `messages`, Responses `input`, Gemini `contents`, completions a `prompt`. */
function inputOf({ messages, input, contents, prompt }: JsonObject): Message[] {
  const given = messages ?? input ?? contents ?? prompt ?? [];
  return listOf(given).map((one) => messageOf(one, 'user'));
}

function outputOf(answer: JsonObject): Message[] {
  const { choices, candidates, output, content, status, stop_reason: stop } = answer;
  if (Array.isArray(choices))
    return choices
      .filter(isObject)
      .map((one) => ended(messageOf(one.message ?? one.text ?? one, 'assistant'), one.finish_reason));
  if (Array.isArray(candidates))
    return candidates
      .filter(isObject)
      .map((one) => ended(messageOf(one.content ?? {}, 'assistant'), one.finishReason));
  if (Array.isArray(output)) {
    const parts = output.flatMap((item) => messageOf(item, 'assistant').parts);
    const isCall = parts.some(({ type }) => type === 'tool_call');
    const end = status === 'completed' ? (isCall ? 'tool_calls' : 'stop') : reasonOf(answer);
    return [ended({ role: 'assistant', parts }, end)];
  }
  return content === undefined ? [] : [ended(messageOf(answer, 'assistant'), stop)];
}

const reasonOf = ({ incomplete_details: details, status }: JsonObject): unknown =>
  isObject(details) ? details.reason : status;

const ended = (message: Message, end: unknown): Message =>
  typeof end === 'string' || typeof end === 'number'
    ? { ...message, finish_reason: finishReason(end) }
    : message;

/** Gemini's word for an assistant. */
const MODEL = 'model';

function messageOf(given: unknown, ownRole: string): Message {
  if (!isObject(given)) return { role: ownRole, parts: partsOf(given) };
  const { role, content, parts, tool_calls: calls, reasoning_content: thought, type } = given;
  // Items of Responses that are no messages are parts of their own.
  if (typeof type === 'string' && type !== 'message') {
    const part = partOf(given);
    return { role: ITEM_ROLES[part.type] ?? ownRole, parts: [part] };
  }
  const named = typeof role === 'string' ? role : ownRole;
  const own = named === MODEL ? 'assistant' : named;
  if (own === 'tool' && given.tool_call_id !== undefined)
    return { role: own, parts: [{ type: 'tool_call_response', id: given.tool_call_id, response: content }] };
  const said = partsOf(content ?? parts ?? []);
  const isResponse = said.some((part) => part.type === 'tool_call_response');
  return {
    role: isResponse && own === 'user' ? 'tool' : own,
    parts: [
      ...(typeof thought === 'string' ? [{ type: 'reasoning', content: thought }] : []),
      ...said,
      ...listOf(calls).map(partOf),
    ],
  };
}

const ITEM_ROLES: Readonly<Record<string, string>> = {
  tool_call: 'assistant',
  reasoning: 'assistant',
  tool_call_response: 'tool',
};

/** A text, a list of parts, or Gemini's object with `parts`. */
function partsOf(content: unknown): Part[] {
  const inner = isObject(content) && Array.isArray(content.parts) ? content.parts : content;
  return listOf(inner).map(partOf);
}

const listOf = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? value : value === undefined || value === null ? [] : [value];

type Read = (part: JsonObject) => Part;

const text: Read = (part) => ({ type: 'text', content: part.text ?? part.refusal ?? '' });
const call: Read = ({ id, call_id: callId, name, input, arguments: given, args, action }) => ({
  type: 'tool_call',
  ...((callId ?? id) !== undefined && { id: callId ?? id }),
  name,
  arguments: parsed(input ?? given ?? args ?? action),
});
const response: Read = (part) => ({
  type: 'tool_call_response',
  id: part.tool_use_id ?? part.call_id ?? part.id,
  response: part.content ?? part.output ?? part.response,
});
const reasoning: Read = (part) => ({
  type: 'reasoning',
  content: [part.thinking, part.text, part.summary, part.content]
    .flat()
    .map((one) => (isObject(one) ? one.text : one))
    .filter((one) => typeof one === 'string')
    .join('\n'),
});

/** By the types of Chat, Messages and Responses. */
const READS: Readonly<Record<string, Read>> = {
  text,
  input_text: text,
  output_text: text,
  refusal: text,
  tool_use: call,
  function_call: call,
  custom_tool_call: call,
  function: ({ id, function: own }) => call({ ...(isObject(own) ? own : {}), id }),
  tool_result: response,
  function_call_output: response,
  custom_tool_call_output: response,
  thinking: reasoning,
  reasoning,
};

function partOf(given: unknown): Part {
  if (!isObject(given)) return { type: 'text', content: typeof given === 'string' ? given : '' };
  const { type, thought, functionCall, functionResponse } = given;
  if (typeof type === 'string') {
    const read = Object.hasOwn(READS, type) ? READS[type] : undefined;
    return read?.(given) ?? { ...given, type };
  }
  // Gemini's parts have no type.
  if (isObject(functionCall)) return call(functionCall);
  if (isObject(functionResponse))
    return response({ ...functionResponse, id: functionResponse.id ?? functionResponse.name });
  if (thought === true) return reasoning(given);
  if (typeof given.text === 'string') return text(given);
  return { ...given, type: Object.keys(given)[0] ?? 'unknown' };
}

/** Arguments that are written as a text are shown as what they are. */
function parsed(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}
