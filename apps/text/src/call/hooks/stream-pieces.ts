import type { Protocol } from '@gateway/upstream/protocol';
import { isObject, type JsonObject, numberAt, objectAt, textAt } from '../../wire/json-object.ts';
import { replySlots } from './text-slots.ts';

/** A piece of one text of a streamed answer. */
export interface StreamPiece {
  /** Which text. */
  readonly key: string;
  readonly text: string;
  put(text: string): void;
}

/** What an event of a stream has of texts. */
export interface EventTexts {
  /** They go on with their texts. */
  readonly pieces: readonly StreamPiece[];
  /** They repeat the whole of a text. */
  readonly repeats: readonly StreamPiece[];
  /** It breaks a silence only. */
  readonly isSilence: boolean;
}

type Finder = (event: JsonObject) => Partial<EventTexts>;

const pieceAt = (holder: unknown, name: string, key: string): readonly StreamPiece[] => {
  const text: unknown = isObject(holder) ? holder[name] : null;
  return isObject(holder) && typeof text === 'string' && text !== ''
    ? [{ key, text, put: (changed) => void Reflect.set(holder, name, changed) }]
    : [];
};

const objectsIn = (value: unknown): readonly JsonObject[] =>
  Array.isArray(value) ? value.filter(isObject) : [];

const RESPONSES_DELTAS: ReadonlySet<unknown> = new Set([
  'response.output_text.delta',
  'response.refusal.delta',
  'response.function_call_arguments.delta',
  'response.custom_tool_call_input.delta',
  'response.mcp_call_arguments.delta',
]);
const WHOLE_TEXT = ['text', 'refusal', 'arguments', 'input'] as const;

/** The texts of an item, under the keys of their deltas. */
const itemTexts = (item: unknown, at: unknown): readonly StreamPiece[] => {
  if (!isObject(item) || item.type === 'reasoning') return [];
  return [
    ...objectsIn(item.content).flatMap((part, index) => partTexts(part, `${at}/${index}`)),
    ...pieceAt(item, 'arguments', `${at}/`),
    ...pieceAt(item, 'input', `${at}/`),
  ];
};
const partTexts = (part: unknown, key: string): readonly StreamPiece[] => [
  ...pieceAt(part, 'text', key),
  ...pieceAt(part, 'refusal', key),
];

const ofResponses: Finder = (event) => {
  const { type, output_index: at, content_index: part = '' } = event;
  const key = `${at}/${part}`;
  if (RESPONSES_DELTAS.has(type)) return { pieces: pieceAt(event, 'delta', key) };
  const response = objectAt(event, 'response');
  if (response !== null)
    return { repeats: objectsIn(response.output).flatMap((item, index) => itemTexts(item, index)) };
  if (typeof type !== 'string' || type.includes('reasoning')) return {};
  if (isObject(event.item)) return { repeats: itemTexts(event.item, at) };
  if (isObject(event.part)) return { repeats: partTexts(event.part, key) };
  return type.endsWith('.done')
    ? { repeats: WHOLE_TEXT.flatMap((name) => pieceAt(event, name, key)) }
    : { isSilence: type === 'keepalive' };
};

const ofMessages: Finder = ({ type, index, content_block: block, delta }) => {
  const key = String(index);
  if (type === 'content_block_start') return { pieces: pieceAt(block, 'text', key) };
  if (type === 'content_block_delta')
    return { pieces: [...pieceAt(delta, 'text', key), ...pieceAt(delta, 'partial_json', key)] };
  return { isSilence: type === 'ping' };
};

const ofChat: Finder = ({ choices }) => {
  const pieces: StreamPiece[] = [];
  const repeats: StreamPiece[] = [];
  for (const choice of objectsIn(choices)) {
    const at = numberAt(choice, 'index') ?? 0;
    const { delta, message } = choice;
    pieces.push(...pieceAt(delta, 'content', `${at}`), ...pieceAt(delta, 'refusal', `${at}/refusal`));
    pieces.push(...pieceAt(choice, 'text', `${at}`));
    for (const [index, call] of objectsIn(isObject(delta) ? delta.tool_calls : []).entries())
      pieces.push(...pieceAt(call.function, 'arguments', `${at}/call/${numberAt(call, 'index') ?? index}`));
    repeats.push(...pieceAt(message, 'content', `${at}`));
  }
  return { pieces, repeats };
};

const ofGemini: Finder = (event) => ({
  // Calls come whole, and each text of theirs is one of its own.
  pieces: objectsIn(event.candidates).flatMap((candidate, index) => {
    const at = numberAt(candidate, 'index') ?? index;
    return replySlots({ candidates: [candidate] }).map(({ text, put }) => ({ key: `${at}`, text, put }));
  }),
});

const ofConverse: Finder = (event) => {
  const block = objectAt(event, 'contentBlockDelta');
  const delta = block && objectAt(block, 'delta');
  const key = String(block?.contentBlockIndex ?? 0);
  return delta === null
    ? {}
    : { pieces: [...pieceAt(delta, 'text', key), ...pieceAt(objectAt(delta, 'toolUse'), 'input', key)] };
};

const FINDERS: Readonly<Partial<Record<Protocol, Finder>>> = {
  responses: ofResponses,
  messages: ofMessages,
  chat: ofChat,
  completions: ofChat,
  gemini: ofGemini,
  converse: ofConverse,
};

/** The texts in an event of an upstream's stream. */
export function eventTexts(protocol: Protocol, event: JsonObject): EventTexts {
  const { pieces = [], repeats = [], isSilence = false } = FINDERS[protocol]?.(event) ?? {};
  return { pieces, repeats, isSilence };
}

/** The name of an event that has one in its data. */
export const typeOf = (event: JsonObject): string => textAt(event, 'type') ?? '';
