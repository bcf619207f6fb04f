import { DONE_FRAME, namedFrame } from '@gateway/contracts/event-stream/sse-frames';
import { STREAM_EVENTS } from '@gateway/contracts/event-stream/stream-events';
import { isObject, type JsonObject, textAt } from '../../../wire/json-object.ts';

type Emit = (type: string, members: JsonObject) => void;

/** For each kind of part, and of item: the member that deltas build up, and the stem of their events. */
interface Growing {
  readonly member: string;
  readonly stem: string;
}
const PARTS: ReadonlyMap<unknown, Growing> = new Map([
  ['output_text', { member: 'text', stem: 'response.output_text' }],
  ['refusal', { member: 'refusal', stem: 'response.refusal' }],
  ['reasoning_text', { member: 'text', stem: 'response.reasoning_text' }],
]);
const ITEMS: ReadonlyMap<unknown, Growing> = new Map([
  ['function_call', { member: 'arguments', stem: 'response.function_call_arguments' }],
  ['custom_tool_call', { member: 'input', stem: 'response.custom_tool_call_input' }],
]);

const LAST_EVENTS: ReadonlyMap<unknown, string> = new Map(
  Object.entries(STREAM_EVENTS.responses.end).map(([event, status]) => [status, event]),
);

/** A finished response as a stream with all its members; null for anything else. */
export function replyFrames(response: JsonObject): readonly string[] | null {
  const lastEvent = LAST_EVENTS.get(response.status);
  if (lastEvent === undefined || !Array.isArray(response.output)) return null;
  const frames: string[] = [];
  const emit: Emit = (type, members) => {
    frames.push(namedFrame({ type, sequence_number: frames.length, ...members }));
  };
  const begun = {
    ...response,
    status: 'in_progress',
    completed_at: null,
    error: null,
    incomplete_details: null,
    output: [],
    usage: null,
  };
  emit('response.created', { response: begun });
  emit('response.in_progress', { response: begun });
  for (const [index, item] of response.output.entries()) if (isObject(item)) emitItem(item, index, emit);
  emit(lastEvent, { response });
  return [...frames, DONE_FRAME];
}

/** The frames after the event of a number: -1 for all. */
export const framesAfter = (frames: readonly string[], after: number): readonly string[] =>
  frames.filter((frame) => {
    const number = /"sequence_number":(\d+)/.exec(frame)?.[1];
    return number === undefined || Number(number) > after;
  });

function emitItem(item: JsonObject, index: number, emit: Emit): void {
  const at = { item_id: item.id, output_index: index };
  const content = Array.isArray(item.content) ? item.content.filter(isObject) : [];
  const summary = Array.isArray(item.summary) ? item.summary.filter(isObject) : [];
  const growing = ITEMS.get(item.type);
  emit('response.output_item.added', {
    output_index: index,
    item: {
      ...item,
      ...('status' in item && { status: 'in_progress' }),
      ...(content.length > 0 && { content: [] }),
      ...(summary.length > 0 && { summary: [] }),
      ...(growing && { [growing.member]: '' }),
    },
  });
  for (const [number, part] of summary.entries()) {
    const position = { ...at, summary_index: number };
    emit('response.reasoning_summary_part.added', { ...position, part: { ...part, text: '' } });
    emitText(part, { member: 'text', stem: 'response.reasoning_summary_text' }, position, emit);
    emit('response.reasoning_summary_part.done', { ...position, part });
  }
  for (const [number, part] of content.entries()) emitPart(part, { ...at, content_index: number }, emit);
  if (growing) emitText(item, growing, at, emit);
  emit('response.output_item.done', { output_index: index, item });
}

function emitPart(part: JsonObject, position: JsonObject, emit: Emit): void {
  const growing = PARTS.get(part.type);
  const annotations = Array.isArray(part.annotations) ? part.annotations : [];
  emit('response.content_part.added', {
    ...position,
    part: {
      ...part,
      ...(growing && { [growing.member]: '' }),
      ...(annotations.length > 0 && { annotations: [] }),
    },
  });
  if (growing) emitText(part, growing, position, emit);
  for (const [index, annotation] of annotations.entries())
    emit('response.output_text.annotation.added', { ...position, annotation_index: index, annotation });
  emit('response.content_part.done', { ...position, part });
}

function emitText(holder: JsonObject, { member, stem }: Growing, position: JsonObject, emit: Emit): void {
  const text = textAt(holder, member) ?? '';
  const logprobs = holder.type === 'output_text' ? { logprobs: holder.logprobs ?? [] } : {};
  const name = holder.type === 'function_call' ? { name: holder.name } : {};
  if (text !== '') emit(`${stem}.delta`, { ...position, delta: text, ...logprobs });
  emit(`${stem}.done`, { ...position, ...name, [member]: text, ...logprobs });
}
