import { asList, asObject, asText, type JsonObject } from '../json-value.ts';
import { DONE_FRAME, eventFrame } from '../replies/reply.ts';
import { splitWords } from '../tokens.ts';
import type { OutputItem } from './output-items.ts';

export interface ResponseStream {
  readonly frames: Iterable<string>;
  /** The error event and the events after it, from the stream's current position. */
  errorFrames(): readonly string[];
}

export interface ResponseStreamOptions {
  readonly started: JsonObject;
  readonly final: JsonObject;
  readonly items: readonly OutputItem[];
  /** Called just before the terminal event. */
  readonly onTerminal: () => void;
}

type Event = readonly [type: string, members: JsonObject];

const LOST = { code: 'server_error', message: 'The server had an error while processing your request.' };

function* messageEvents(
  item: JsonObject,
  position: JsonObject,
  partial: (text: string) => void,
): Generator<Event> {
  const part = asObject(asList(item.content)[0]);
  const at = { ...position, content_index: 0 };
  if (part.type === 'refusal') {
    yield ['response.content_part.added', { ...at, part: { type: 'refusal', refusal: '' } }];
    for (const delta of splitWords(asText(part.refusal))) yield ['response.refusal.delta', { ...at, delta }];
    yield ['response.refusal.done', { ...at, refusal: part.refusal }];
  } else {
    const empty = { type: 'output_text', text: '', annotations: [], logprobs: [] };
    yield ['response.content_part.added', { ...at, part: empty }];
    let soFar = '';
    for (const delta of splitWords(asText(part.text))) {
      soFar += delta;
      partial(soFar);
      yield ['response.output_text.delta', { ...at, delta, logprobs: [] }];
    }
    for (const [annotation_index, annotation] of asList(part.annotations).entries()) {
      yield ['response.output_text.annotation.added', { ...at, annotation_index, annotation }];
    }
    yield ['response.output_text.done', { ...at, text: part.text, logprobs: [] }];
  }
  yield ['response.content_part.done', { ...at, part }];
}

function* reasoningEvents(item: JsonObject, position: JsonObject, text: string): Generator<Event> {
  if (text === '') return;
  if (item.content) {
    const at = { ...position, content_index: 0 };
    yield ['response.content_part.added', { ...at, part: { type: 'reasoning_text', text: '' } }];
    for (const delta of splitWords(text)) yield ['response.reasoning_text.delta', { ...at, delta }];
    yield ['response.reasoning_text.done', { ...at, text }];
    yield ['response.content_part.done', { ...at, part: { type: 'reasoning_text', text } }];
    return;
  }
  const at = { ...position, summary_index: 0 };
  yield ['response.reasoning_summary_part.added', { ...at, part: { type: 'summary_text', text: '' } }];
  for (const delta of splitWords(text)) yield ['response.reasoning_summary_text.delta', { ...at, delta }];
  yield ['response.reasoning_summary_text.done', { ...at, text }];
  yield ['response.reasoning_summary_part.done', { ...at, part: { type: 'summary_text', text } }];
}

function* argumentEvents(item: JsonObject, position: JsonObject, text: string): Generator<Event> {
  const isCustom = item.type === 'custom_tool_call';
  const prefix = isCustom ? 'response.custom_tool_call_input' : 'response.function_call_arguments';
  for (const delta of splitWords(text)) yield [`${prefix}.delta`, { ...position, delta }];
  yield [
    `${prefix}.done`,
    { ...position, ...(isCustom ? { input: text } : { name: item.name, arguments: text }) },
  ];
}

function* searchEvents(item: JsonObject, position: JsonObject): Generator<Event> {
  for (const step of ['in_progress', 'searching', 'completed']) {
    yield [`response.${asText(item.type)}.${step}`, position];
  }
}

/** An item as it is announced: streaming members present but empty. */
const EMPTY_MEMBERS: Readonly<Record<string, JsonObject>> = {
  message: { status: 'in_progress', content: [] },
  function_call: { status: 'in_progress', arguments: '' },
  custom_tool_call: { status: 'in_progress', input: '' },
  web_search_call: { status: 'in_progress', action: { type: 'search', query: '', queries: [] } },
  file_search_call: { status: 'in_progress', queries: [], results: null },
  compaction: { encrypted_content: '' },
};

const announced = (item: JsonObject): JsonObject => {
  if (item.type !== 'reasoning') return { ...item, ...EMPTY_MEMBERS[asText(item.type)] };
  return { id: item.id, type: 'reasoning', summary: [], ...(item.content ? { content: [] } : {}) };
};

const TERMINAL_EVENTS: Readonly<Record<string, string>> = {
  completed: 'response.completed',
  incomplete: 'response.incomplete',
  failed: 'response.failed',
};

/** The event stream of one response, in the order and numbering that clients require. */
export const createResponseStream = ({
  started,
  final,
  items,
  onTerminal,
}: ResponseStreamOptions): ResponseStream => {
  let sequence = 0;
  let done: JsonObject[] = [];
  let open: JsonObject | null = null;
  const frame = ([type, members]: Event): string => {
    const numbered = { type, sequence_number: sequence, ...members };
    sequence += 1;
    return eventFrame(type, numbered);
  };
  const partial = (text: string): void => {
    const content = [{ type: 'output_text', text, annotations: [], logprobs: [] }];
    open = { ...open, status: 'incomplete', content };
  };

  function* itemEvents({ item, text }: OutputItem, output_index: number): Generator<Event> {
    const position = { item_id: item.id, output_index };
    open = { ...announced(item), ...(item.type === 'reasoning' ? {} : { status: 'incomplete' }) };
    yield ['response.output_item.added', { output_index, item: announced(item) }];
    if (item.type === 'message') yield* messageEvents(item, position, partial);
    else if (item.type === 'reasoning') yield* reasoningEvents(item, position, text);
    else if (item.type === 'function_call' || item.type === 'custom_tool_call')
      yield* argumentEvents(item, position, text);
    else if (item.type === 'compaction') yield ['response.compaction.compacting', position];
    else yield* searchEvents(item, position);
    done.push(item);
    open = null;
    yield ['response.output_item.done', { output_index, item }];
  }

  function* frames(): Generator<string> {
    sequence = 0;
    done = [];
    open = null;
    yield frame(['response.created', { response: started }]);
    if (started.status === 'queued') yield frame(['response.queued', { response: started }]);
    yield frame(['response.in_progress', { response: { ...started, status: 'in_progress' } }]);
    for (const [index, item] of items.entries()) {
      for (const event of itemEvents(item, index)) yield frame(event);
    }
    onTerminal();
    const terminal = TERMINAL_EVENTS[asText(final.status)];
    if (terminal) yield frame([terminal, { response: final }]);
    yield DONE_FRAME;
  }

  return {
    frames: { [Symbol.iterator]: frames },
    errorFrames: () => {
      const error = { type: 'server_error', ...LOST, param: null };
      const output = open ? [...done, open] : done;
      return [
        frame(['error', { ...LOST, param: null, error }]),
        frame(['response.failed', { response: { ...started, status: 'failed', error, output } }]),
        DONE_FRAME,
      ];
    },
  };
};
