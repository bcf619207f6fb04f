import type { Protocol } from '@gateway/upstream/protocol';
import { isObject, type JsonObject, numberAt, objectAt, textAt } from '../../wire/json-object.ts';
import { otherSlots, replySlots } from './text-slots.ts';

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
  /** Nothing more comes of the texts whose keys begin with one of these, but what the event has itself. */
  readonly over: readonly string[];
}

/** @param ordinal the event's, for texts that no other event goes on with */
type Finder = (event: JsonObject, ordinal: number) => Partial<EventTexts>;

const pieceAt = (holder: unknown, name: string, key: string): readonly StreamPiece[] => {
  const text: unknown = isObject(holder) ? holder[name] : null;
  return isObject(holder) && typeof text === 'string' && text !== ''
    ? [{ key, text, put: (changed) => void Reflect.set(holder, name, changed) }]
    : [];
};

const objectsIn = (value: unknown): readonly JsonObject[] =>
  Array.isArray(value) ? value.filter(isObject) : [];

/** Texts each of which is one of its own. */
const wholePieces = (slots: ReturnType<typeof replySlots>, prefix: string): readonly StreamPiece[] =>
  slots.map(({ text, put }, index) => ({ key: `${prefix}whole/${index}/`, text, put }));

/** Of the bytes of sounds and images there are deltas too. */
const TEXT_DELTA = /^(?!.*(?:reasoning|audio\.delta|partial_image)).*\.delta$/;
const WHOLE_TEXT = ['text', 'refusal', 'arguments', 'input', 'code', 'transcript'] as const;
const ENDED = /^response\.(?:completed|incomplete|failed|cancelled)$/;
const EVERY_TEXT = [''];

/** Members of an item whose texts come in deltas. */
const IN_DELTAS: ReadonlySet<string> = new Set(['content', 'arguments', 'input', 'code']);

/** The texts of an item, under the keys of their deltas. */
const itemTexts = (item: unknown, at: unknown): readonly StreamPiece[] => {
  if (!isObject(item) || item.type === 'reasoning') return [];
  return [
    ...objectsIn(item.content).flatMap((part, index) => partTexts(part, `${at}/${index}/`)),
    ...['arguments', 'input', 'code'].flatMap((name) => pieceAt(item, name, `${at}//`)),
    ...wholePieces(otherSlots(item, IN_DELTAS), `${at}/`),
  ];
};
const partTexts = (part: unknown, key: string): readonly StreamPiece[] => [
  ...pieceAt(part, 'text', key),
  ...pieceAt(part, 'refusal', key),
];

const ofResponses: Finder = (event) => {
  const { type, output_index: at, content_index: part = '' } = event;
  const key = `${at}/${part}/`;
  if (typeof type !== 'string') return {};
  if (TEXT_DELTA.test(type)) return { pieces: pieceAt(event, 'delta', key) };
  const response = objectAt(event, 'response');
  if (response !== null)
    return {
      repeats: objectsIn(response.output).flatMap((item, index) => itemTexts(item, index)),
      over: ENDED.test(type) ? EVERY_TEXT : [],
    };
  if (type.includes('reasoning')) return {};
  const isDone = type.endsWith('.done');
  if (isObject(event.item)) return { repeats: itemTexts(event.item, at), over: isDone ? [`${at}/`] : [] };
  if (isObject(event.part)) return { repeats: partTexts(event.part, key), over: isDone ? [key] : [] };
  return isDone ? { repeats: WHOLE_TEXT.flatMap((name) => pieceAt(event, name, key)), over: [key] } : {};
};

const ofMessages: Finder = ({ type, index, content_block: block, delta }, ordinal) => {
  const key = `${index}/`;
  if (type === 'content_block_start')
    return {
      pieces:
        isObject(block) && block.type !== 'text'
          ? wholePieces(replySlots({ content: [block] }), key)
          : pieceAt(block, 'text', key),
    };
  if (type === 'content_block_delta')
    return {
      pieces: [
        ...pieceAt(delta, 'text', key),
        ...pieceAt(delta, 'partial_json', key),
        // A quotation comes whole.
        ...pieceAt(isObject(delta) ? delta.citation : null, 'cited_text', `${key}cited/${ordinal}/`),
      ],
    };
  return { over: type === 'content_block_stop' ? [key] : type === 'message_stop' ? EVERY_TEXT : [] };
};

const ofChat: Finder = ({ choices }) => {
  const pieces: StreamPiece[] = [];
  const repeats: StreamPiece[] = [];
  const over: string[] = [];
  for (const choice of objectsIn(choices)) {
    const at = numberAt(choice, 'index') ?? 0;
    const { delta, message } = choice;
    pieces.push(...pieceAt(delta, 'content', `${at}/text/`), ...pieceAt(delta, 'refusal', `${at}/refusal/`));
    pieces.push(...pieceAt(choice, 'text', `${at}/text/`));
    repeats.push(...pieceAt(message, 'content', `${at}/text/`));
    if (isObject(delta)) {
      pieces.push(...pieceAt(delta.audio, 'transcript', `${at}/audio/`));
      pieces.push(...pieceAt(delta.function_call, 'arguments', `${at}/call/`));
    }
    for (const [place, call] of objectsIn(isObject(delta) ? delta.tool_calls : []).entries()) {
      const index = numberAt(call, 'index') ?? place;
      const key = `${at}/call/${index}/`;
      pieces.push(...pieceAt(call.function, 'arguments', key), ...pieceAt(call.custom, 'input', key));
      // Calls come one after the other, behind the text.
      over.push(index > 0 ? `${at}/call/${index - 1}/` : `${at}/text/`);
    }
    if ((choice.finish_reason ?? null) !== null) over.push(`${at}/`);
  }
  return { pieces, repeats, over };
};

const ofGemini: Finder = (event, ordinal) => {
  const pieces: StreamPiece[] = [];
  const over: string[] = [];
  for (const [place, candidate] of objectsIn(event.candidates).entries()) {
    const at = numberAt(candidate, 'index') ?? place;
    for (const [index, part] of objectsIn(objectAt(candidate, 'content')?.parts).entries()) {
      const slots = replySlots({ candidates: [{ content: { parts: [part] } }] });
      // Calls come whole, and each text of theirs is one of its own.
      if (typeof part.text === 'string')
        pieces.push(...slots.map(({ text, put }) => ({ key: `${at}/text/`, text, put })));
      else pieces.push(...wholePieces(slots, `${at}/${ordinal}/${index}/`));
    }
    if ((candidate.finishReason ?? null) !== null) over.push(`${at}/`);
  }
  return { pieces, over };
};

const ofConverse: Finder = (event, ordinal) => {
  const stop = objectAt(event, 'contentBlockStop');
  if (stop !== null) return { over: [`${stop.contentBlockIndex ?? 0}/`] };
  const block = objectAt(event, 'contentBlockDelta');
  const delta = block && objectAt(block, 'delta');
  const key = `${block?.contentBlockIndex ?? 0}/`;
  if (delta === null) return {};
  // A quotation comes whole.
  const cited = objectsIn(objectAt(delta, 'citation')?.sourceContent).flatMap((source, index) =>
    pieceAt(source, 'text', `${key}cited/${ordinal}/${index}/`),
  );
  return {
    pieces: [...pieceAt(delta, 'text', key), ...pieceAt(objectAt(delta, 'toolUse'), 'input', key), ...cited],
  };
};

const FINDERS: Readonly<Partial<Record<Protocol, Finder>>> = {
  responses: ofResponses,
  messages: ofMessages,
  chat: ofChat,
  completions: ofChat,
  gemini: ofGemini,
  converse: ofConverse,
};

/** The texts in an event of an upstream's stream, by its place in it. */
export function eventTexts(protocol: Protocol, event: JsonObject, ordinal: number): EventTexts {
  const { pieces = [], repeats = [], over = [] } = FINDERS[protocol]?.(event, ordinal) ?? {};
  return { pieces, repeats, over };
}

/** The name of an event that has one in its data. */
export const typeOf = (event: JsonObject): string => textAt(event, 'type') ?? '';
