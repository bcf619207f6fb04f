import { isObject, type JsonObject, numberAt, objectAt, parseObject, textAt } from '../json-object.ts';

/** Gathers the output of a streamed response, so that a stream which breaks can still say what there was. */
export interface OutputCollector {
  /** `data` is the event's own text. */
  event(type: string, event: JsonObject, data: string): void;
  /** The items so far, in their order. One that was not finished has the status `incomplete`. */
  items(): JsonObject[];
}

/** Where the text of a delta event belongs: the list of parts and the event's index into it, or the item's own member. */
type Place =
  | { readonly list: 'content' | 'summary'; readonly index: string; readonly member: string }
  | { readonly member: string };

const DELTAS: Readonly<Record<string, Place>> = {
  'response.output_text.delta': { list: 'content', index: 'content_index', member: 'text' },
  'response.refusal.delta': { list: 'content', index: 'content_index', member: 'refusal' },
  'response.reasoning_text.delta': { list: 'content', index: 'content_index', member: 'text' },
  'response.reasoning_summary_text.delta': { list: 'summary', index: 'summary_index', member: 'text' },
  'response.function_call_arguments.delta': { member: 'arguments' },
  'response.mcp_call_arguments.delta': { member: 'arguments' },
  'response.custom_tool_call_input.delta': { member: 'input' },
  'response.code_interpreter_call_code.delta': { member: 'code' },
};

const PARTS: Readonly<Record<string, { readonly list: 'content' | 'summary'; readonly index: string }>> = {
  'response.content_part.added': { list: 'content', index: 'content_index' },
  'response.reasoning_summary_part.added': { list: 'summary', index: 'summary_index' },
};

type Mutable = Record<string, unknown>;

interface OpenItem {
  readonly item: JsonObject;
  readonly own: Mutable;
  readonly content: Mutable[];
  readonly summary: Mutable[];
}

export function createOutputCollector(): OutputCollector {
  const open = new Map<number, OpenItem>();
  /** Finished items as text: they are read again only when the stream breaks. */
  const done = new Map<number, string>();

  const onDelta = (place: Place, event: JsonObject) => {
    const item = open.get(numberAt(event, 'output_index') ?? 0);
    if (item === undefined) return;
    const holder = 'list' in place ? item[place.list][numberAt(event, place.index) ?? 0] : item.own;
    if (holder === undefined) return;
    holder[place.member] = `${holder[place.member] ?? ''}${textAt(event, 'delta') ?? ''}`;
  };

  return {
    event: (type, event, data) => {
      const delta = DELTAS[type];
      if (delta !== undefined) return onDelta(delta, event);
      const index = numberAt(event, 'output_index') ?? 0;
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
      const added = PARTS[type];
      const part = objectAt(event, 'part');
      if (added === undefined || part === null) return;
      const parts = open.get(index)?.[added.list];
      if (parts !== undefined) parts[numberAt(event, added.index) ?? parts.length] = { ...part };
    },
    items: () => {
      const finished = [...done].map(([index, data]) => [index, itemOf(data)] as const);
      const unfinished = [...open].map(([index, item]) => [index, incomplete(item)] as const);
      return [...finished, ...unfinished]
        .toSorted(([one], [other]) => one - other)
        .flatMap(([, item]) => (item === null ? [] : [item]));
    },
  };
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
