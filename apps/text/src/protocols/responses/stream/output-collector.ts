import type { Frame } from '@gateway/contracts/event-stream/frame-reader';
import { isObject, type JsonObject, numberAt, objectAt, textAt } from '../../../wire/json-object.ts';
import { isJsonObject, parseBody } from '../../../wire/raw-json.ts';
import {
  endOfDigits,
  endOfString,
  findString,
  hasAt,
  numberAfter,
} from '../../../wire/stream/stream-reader.ts';
import type { GatheredOutput } from '../reply/whole-output.ts';
import { ItemPositions } from './item-positions.ts';

/** Gathers the output of a streamed response: it is known of a stream that breaks, and of one whose last event lacks it. */
export interface OutputCollector extends GatheredOutput {
  /** Takes a frame without parsing it, where it is a delta in the form that its provider gives it. Else false. */
  delta(frame: Frame): boolean;
  /** Any other event. `data` is its own text. */
  event(type: string, event: JsonObject, data: string): void;
  /** Characters of the deltas so far, as they are written. */
  readonly length: number;
}

/**
 * Where the text of a delta event belongs: the list of parts and the event's index into it, or the item's own member; and
 * of which type the item and the part are that no event has announced.
 */
type Position =
  | {
      readonly item: string;
      readonly list: 'content' | 'summary';
      readonly index: string;
      readonly part: string;
      readonly member: string;
    }
  | { readonly item: string; readonly index?: undefined; readonly member: string };

const CONTENT = { item: 'message', list: 'content', index: 'content_index' } as const;
const REASONING = { item: 'reasoning', member: 'text' } as const;

/** Each has an event at the end of its text too, with the whole of it in the same member. */
const POSITIONS = {
  'response.output_text': { ...CONTENT, part: 'output_text', member: 'text' },
  'response.refusal': { ...CONTENT, part: 'refusal', member: 'refusal' },
  'response.reasoning_text': {
    ...REASONING,
    list: 'content',
    index: 'content_index',
    part: 'reasoning_text',
  },
  'response.reasoning_summary_text': {
    ...REASONING,
    list: 'summary',
    index: 'summary_index',
    part: 'summary_text',
  },
  'response.function_call_arguments': { item: 'function_call', member: 'arguments' },
  'response.mcp_call_arguments': { item: 'mcp_call', member: 'arguments' },
  'response.custom_tool_call_input': { item: 'custom_tool_call', member: 'input' },
  'response.code_interpreter_call_code': { item: 'code_interpreter_call', member: 'code' },
} as const satisfies Readonly<Record<string, Position>>;

const eventsOf = (ending: string): ReadonlyMap<string, Position> =>
  new Map(Object.entries(POSITIONS).map(([stem, position]) => [`${stem}.${ending}`, position]));
const DELTAS = eventsOf('delta');
const WHOLE_TEXTS = eventsOf('done');

interface PartList {
  readonly list: 'content' | 'summary';
  readonly index: string;
}
const CONTENT_PARTS: PartList = { list: 'content', index: 'content_index' };
const SUMMARY_PARTS: PartList = { list: 'summary', index: 'summary_index' };
const PARTS: ReadonlyMap<string, PartList> = new Map([
  ['response.content_part.added', CONTENT_PARTS],
  ['response.content_part.done', CONTENT_PARTS],
  ['response.reasoning_summary_part.added', SUMMARY_PARTS],
  ['response.reasoning_summary_part.done', SUMMARY_PARTS],
]);

type Mutable = Record<string, unknown>;

interface OpenItem {
  readonly item: JsonObject;
  readonly own: Mutable;
  readonly content: Mutable[];
  readonly summary: Mutable[];
}

/** How a delta event begins where it is written without spaces, and where it has its text. */
const EVENT_OPENING = 'data: {"type":"';
const DELTA_OPENING = '"delta":"';
const ID_OPENING = '"item_id":"';

/** What deltas of one position have in common: all before their number, and from there to their text. */
interface Template {
  readonly opening: string;
  readonly middle: string;
}
const NUMBER_OPENING = '"sequence_number":';

/** Where deltas are being added. Their text is kept as JSON writes it, and read when the position changes. */
interface Writing {
  readonly position: Position;
  readonly item: number;
  readonly part: number;
  readonly holder: Mutable;
  escaped: string;
  /** What follows it, with one character per byte: many deltas are decoded at once. */
  latin1: string;
}
/** Decoded beyond this, because a piece of a frame keeps the whole chunk in memory. */
const MAX_LATIN1_LENGTH = 8192;

export function createOutputCollector(): OutputCollector {
  const open = new Map<number, OpenItem>();
  /** Finished items as text: they are read again only when they are needed. */
  const done = new Map<number, string>();
  const positions = new ItemPositions();
  let writing: Writing | null = null;
  /** Of the deltas that are being added. */
  let template: Template | null = null;
  let length = 0;

  const settle = () => {
    template = null;
    if (writing === null) return;
    decodeLatin1(writing);
    const { holder, position, escaped } = writing;
    holder[position.member] = `${holder[position.member] ?? ''}${unescaped(escaped)}`;
    writing = null;
  };

  /** The object that a text belongs to; null where its item is finished. Not every server announces it. */
  const holderAt = (position: Position, index: number, part: number, id: string | null): Mutable | null => {
    if (done.has(index)) return null;
    const announced = { ...(id !== null && { id }), ...unannounced(position.item), status: 'in_progress' };
    const at = open.get(index) ?? openItem(announced);
    open.set(index, at);
    if (position.index === undefined) return at.own;
    const parts = at[position.list];
    parts[part] ??= { type: position.part };
    return parts[part];
  };

  const listAt = ({ list }: PartList, index: number, { type }: JsonObject): Mutable[] | undefined => {
    if (done.has(index)) return undefined;
    const isReasoning = list === 'summary' || type === 'reasoning_text';
    const at = open.get(index) ?? openItem(unannounced(isReasoning ? 'reasoning' : 'message'));
    open.set(index, at);
    return at[list];
  };

  const write = (position: Position, item: number, part: number, id: string | null, escaped: string) => {
    length += escaped.length;
    if (writing?.position !== position || writing.item !== item || writing.part !== part) {
      settle();
      const holder = holderAt(position, item, part, id);
      if (holder === null) return;
      writing = { position, item, part, holder, escaped: '', latin1: '' };
    }
    decodeLatin1(writing);
    writing.escaped += escaped;
  };

  return {
    get length() {
      return length;
    },
    get size() {
      return done.size + open.size;
    },
    delta: ({ bytes, start, latin1 }) => {
      const from = template === null || writing === null ? -1 : textAfter(latin1, template);
      const until = from < 0 ? -1 : endOfString(latin1, from);
      if (until >= 0 && writing !== null) {
        length += until - from;
        writing.latin1 += latin1.slice(from, until);
        if (writing.latin1.length > MAX_LATIN1_LENGTH) decodeLatin1(writing);
        return true;
      }
      const type = findString(latin1, EVENT_OPENING);
      const position = type && DELTAS.get(latin1.slice(type.start, type.end));
      const text = position ? findString(latin1, DELTA_OPENING) : null;
      if (!position || text === null) return false;
      const part = position.index !== undefined ? numberAfter(latin1, `"${position.index}":`) : null;
      const id = findString(latin1, ID_OPENING);
      const itemId = id && latin1.slice(id.start, id.end);
      const item = positions.of({
        output_index: numberAfter(latin1, '"output_index":'),
        item_id: itemId,
      });
      const escaped = bytes.toString('utf8', start + text.start, start + text.end);
      write(position, item, part ?? 0, itemId, escaped);
      template = templateOf(latin1, text.start);
      return true;
    },
    event: (type, event, data) => {
      const item = objectAt(event, 'item');
      const part = objectAt(event, 'part');
      const delta: Position | undefined = DELTAS.get(type) ?? WHOLE_TEXTS.get(type);
      const parts = PARTS.get(type);
      if (item === null && delta === undefined && parts === undefined) return;
      const index = positions.of(event);
      if (delta !== undefined) {
        const number = delta.index !== undefined ? (numberAt(event, delta.index) ?? 0) : 0;
        const id = textAt(event, 'item_id');
        if (DELTAS.has(type)) {
          write(delta, index, number, id, JSON.stringify(textAt(event, 'delta') ?? '').slice(1, -1));
          return;
        }
        settle();
        const holder = holderAt(delta, index, number, id);
        if (holder !== null) holder[delta.member] = textAt(event, delta.member) ?? holder[delta.member];
        return;
      }
      settle();
      if (type === 'response.output_item.done') {
        open.delete(index);
        done.set(index, data);
      } else if (type === 'response.output_item.added' && item !== null) open.set(index, openItem(item));
      else if (parts !== undefined && part !== null) {
        const list = listAt(parts, index, part);
        const number = numberAt(event, parts.index) ?? Math.max(0, (list?.length ?? 0) - 1);
        if (list !== undefined) list[number] = { ...list[number], ...withoutEmptyTexts(part) };
      }
    },
    items: (status) => {
      settle();
      const finished = [...done].map(([index, data]) => [index, itemOf(data)] as const);
      const unfinished = [...open].map(([index, item]) => [index, withStatus(item, status)] as const);
      const all = [...finished, ...unfinished].toSorted(([one], [other]) => one - other);
      return new Map(all.flatMap(([index, item]) => (item === null ? [] : [[index, item] as const])));
    },
  };
}

/** A part is announced, or ends, without a text that came otherwise. */
const withoutEmptyTexts = (part: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(part).filter(([, value]) => value !== ''));

/** An item that no event has announced, as far as its type tells. */
const unannounced = (type: string): JsonObject => ({
  type,
  ...(type === 'message' && { role: 'assistant' }),
});

const openItem = (item: JsonObject): OpenItem => ({ item, own: {}, content: [], summary: [] });

function templateOf(event: string, textStart: number): Template | null {
  const at = event.indexOf(NUMBER_OPENING);
  const numberAt = at + NUMBER_OPENING.length;
  if (at < 0 || numberAt > textStart) return null;
  return { opening: event.slice(0, numberAt), middle: event.slice(endOfDigits(event, numberAt), textStart) };
}

/** Where an event of this template has its text; -1 for an event that differs from it. */
function textAfter(event: string, { opening, middle }: Template): number {
  if (!hasAt(event, 0, opening)) return -1;
  const at = endOfDigits(event, opening.length);
  return hasAt(event, at, middle) ? at + middle.length : -1;
}

function decodeLatin1(writing: Writing): void {
  if (writing.latin1 === '') return;
  writing.escaped += Buffer.from(writing.latin1, 'latin1').toString();
  writing.latin1 = '';
}

/** The text that is escaped; empty where an upstream has put no string there. */
function unescaped(text: string): string {
  try {
    return String(JSON.parse(`"${text}"`));
  } catch {
    return '';
  }
}

/** The item of an event that was parsed before, each long number as it was written. */
const itemOf = (data: string): JsonObject | null => {
  const event = parseBody(data);
  return isJsonObject(event) ? objectAt(event, 'item') : null;
};

/** Null for a whole call whose name never came: nobody could run it. */
function withStatus({ item, own, content, summary }: OpenItem, status: string): JsonObject | null {
  if (status === 'completed' && NAMED.has(item.type) && (item.name ?? '') === '') return null;
  return {
    ...item,
    ...('status' in item ? { status } : {}),
    ...own,
    ...(content.length > 0 ? { content: partsIn(content) } : {}),
    ...(summary.length > 0 ? { summary: partsIn(summary) } : {}),
  };
}
const NAMED = new Set<unknown>(['function_call', 'custom_tool_call']);

/** Servers may number parts as they like: what is not there is not walked through. */
const partsIn = (list: readonly Mutable[]): readonly Mutable[] => Object.values(list).filter(isObject);
