import type { Frame } from '@gateway/service-kit/event-stream/frame-reader';
import {
  isObject,
  type JsonObject,
  numberAt,
  objectAt,
  parseObject,
  textAt,
} from '../../../wire/json-object.ts';
import {
  endOfDigits,
  endOfString,
  findString,
  hasAt,
  numberAfter,
} from '../../../wire/stream/stream-reader.ts';

/** Gathers the output of a streamed response, so that the output so far is known of a stream that breaks. */
export interface OutputCollector {
  /** Takes a frame without parsing it, where it is a delta in the form that its provider gives it. Else false. */
  delta(frame: Frame): boolean;
  /** Any other event. `data` is its own text. */
  event(type: string, event: JsonObject, data: string): void;
  /** The items so far, in their order. One that was not finished has the status `incomplete`. */
  items(): JsonObject[];
  /** Characters of the deltas so far, as they are written. */
  readonly length: number;
}

/** Where the text of a delta event belongs: the list of parts and the event's index into it, or the item's own member. */
type Position =
  | { readonly list: 'content' | 'summary'; readonly index: string; readonly member: string }
  | { readonly member: string };

const DELTAS: ReadonlyMap<string, Position> = new Map<string, Position>(
  Object.entries({
    'response.output_text.delta': { list: 'content', index: 'content_index', member: 'text' },
    'response.refusal.delta': { list: 'content', index: 'content_index', member: 'refusal' },
    'response.reasoning_text.delta': { list: 'content', index: 'content_index', member: 'text' },
    'response.reasoning_summary_text.delta': { list: 'summary', index: 'summary_index', member: 'text' },
    'response.function_call_arguments.delta': { member: 'arguments' },
    'response.mcp_call_arguments.delta': { member: 'arguments' },
    'response.custom_tool_call_input.delta': { member: 'input' },
    'response.code_interpreter_call_code.delta': { member: 'code' },
  }),
);

const PARTS = new Map(
  Object.entries({
    'response.content_part.added': { list: 'content', index: 'content_index' },
    'response.reasoning_summary_part.added': { list: 'summary', index: 'summary_index' },
  } as const),
);

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
  /** Finished items as text: they are read again only when the stream breaks. */
  const done = new Map<number, string>();
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

  const write = (position: Position, item: number, part: number, escaped: string) => {
    length += escaped.length;
    if (writing?.position !== position || writing.item !== item || writing.part !== part) {
      settle();
      const at = open.get(item);
      const holder = at && ('list' in position ? at[position.list][part] : at.own);
      if (holder === undefined) return;
      writing = { position, item, part, holder, escaped: '', latin1: '' };
    }
    decodeLatin1(writing);
    writing.escaped += escaped;
  };

  return {
    get length() {
      return length;
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
      const part = 'list' in position ? numberAfter(latin1, `"${position.index}":`) : null;
      const escaped = bytes.toString('utf8', start + text.start, start + text.end);
      write(position, numberAfter(latin1, '"output_index":') ?? 0, part ?? 0, escaped);
      template = templateOf(latin1, text.start);
      return true;
    },
    event: (type, event, data) => {
      const index = numberAt(event, 'output_index') ?? 0;
      const delta = DELTAS.get(type);
      if (delta !== undefined) {
        const part = 'list' in delta ? numberAt(event, delta.index) : null;
        write(delta, index, part ?? 0, JSON.stringify(textAt(event, 'delta') ?? '').slice(1, -1));
        return;
      }
      settle();
      if (type === 'response.output_item.done') {
        open.delete(index);
        done.set(index, data);
        return;
      }
      if (type === 'response.output_item.added') {
        const item = objectAt(event, 'item');
        if (item !== null) open.set(index, { item, own: {}, content: [], summary: [] });
        return;
      }
      const added = PARTS.get(type);
      const part = objectAt(event, 'part');
      if (added === undefined || part === null) return;
      const parts = open.get(index)?.[added.list];
      if (parts !== undefined) parts[numberAt(event, added.index) ?? parts.length] = { ...part };
    },
    items: () => {
      settle();
      const finished = [...done].map(([index, data]) => [index, itemOf(data)] as const);
      const unfinished = [...open].map(([index, item]) => [index, incomplete(item)] as const);
      return [...finished, ...unfinished]
        .toSorted(([one], [other]) => one - other)
        .flatMap(([, item]) => (item === null ? [] : [item]));
    },
  };
}

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

const itemOf = (data: string): JsonObject | null => {
  const event = parseObject(data);
  return event && objectAt(event, 'item');
};

const incomplete = ({ item, own, content, summary }: OpenItem): JsonObject => ({
  ...item,
  ...('status' in item ? { status: 'incomplete' } : {}),
  ...own,
  ...(content.length > 0 ? { content: content.filter(isObject) } : {}),
  ...(summary.length > 0 ? { summary: summary.filter(isObject) } : {}),
});
