import { MessagesEvent, MessagesReply } from '@gateway/contracts/anthropic/messages-wire';
import { END_MARK } from '@gateway/contracts/event-stream/stream-events';
import { objectOf } from '../../../wire/json-object.ts';
import { isJsonObject, parseArguments, parseExactly } from '../../../wire/raw-json.ts';

type Block = { readonly [member: string]: unknown };

/** How often one answer is continued before it counts as cut. */
export const MAX_PAUSES = 10;

/** What Claude sent before it paused its own tool loop (`pause_turn`); null where a finished message did not pause. */
export function pausedContent(reply: unknown): readonly Block[] | null {
  const message = MessagesReply.safeParse(reply);
  return message.success && message.data.stop_reason === 'pause_turn' ? message.data.content : null;
}

/** The request that lets a paused answer go on: the same conversation, ending in the answer so far. */
export const continueTurn = (
  request: { readonly [member: string]: unknown },
  content: readonly Block[],
): { readonly [member: string]: unknown } => ({
  ...request,
  messages: [...(Array.isArray(request.messages) ? request.messages : []), { role: 'assistant', content }],
});

interface RecordedBlock {
  readonly members: { [member: string]: unknown };
  json: string;
}

/** The blocks that text deltas imply where no event has begun them. */
const IMPLIED: ReadonlyMap<unknown, Block> = new Map([
  ['text_delta', { type: 'text', text: '' }],
  ['thinking_delta', { type: 'thinking', thinking: '', signature: '' }],
]);

/** Puts the blocks of a streamed message together again, unaltered, as `continueTurn` must send them back. */
export class TurnRecorder {
  readonly #blocks: RecordedBlock[] = [];
  /** Those that have not ended, by their indexes. */
  readonly #open = new Map<number, RecordedBlock>();
  #last = -1;

  /** In the order in which they began. */
  get content(): readonly Block[] {
    return this.#blocks.map(({ members, json }) =>
      json === '' ? members : { ...members, input: parseArguments(json) ?? {} },
    );
  }

  record(data: string): void {
    if (data === END_MARK) return;
    const { type, index, content_block: block, delta } = MessagesEvent.parse(JSON.parse(data));
    if (type === 'content_block_start' && block !== undefined) this.#begin(exactly(block, data), index);
    else if (type === 'content_block_delta' && delta !== undefined) {
      const at = index ?? this.#last;
      const implied = this.#open.has(at) ? undefined : IMPLIED.get(delta.type);
      if (implied !== undefined) this.#begin(implied, at);
      const open = this.#open.get(at);
      if (open !== undefined) extend(open, delta);
    } else if (type === 'content_block_stop') this.#open.delete(index ?? this.#last);
  }

  #begin(block: Block, index = this.#last + 1): void {
    const begun = { members: { ...block }, json: '' };
    this.#blocks.push(begun);
    this.#open.set(index, begun);
    this.#last = index;
  }
}

function extend(open: RecordedBlock, delta: NonNullable<MessagesEvent['delta']>): void {
  const { members: block } = open;
  if (delta.text !== undefined) block.text = `${block.text ?? ''}${delta.text}`;
  if (delta.thinking !== undefined) block.thinking = `${block.thinking ?? ''}${delta.thinking}`;
  if (delta.signature !== undefined) block.signature = delta.signature;
  if (delta.partial_json !== undefined) open.json += delta.partial_json;
  if (delta.type === 'compaction_delta') {
    // It has the final values of the block's members.
    const { type: _, ...members } = delta;
    Object.assign(block, members);
  }
  if (delta.citation !== undefined) {
    block.citations = [...(Array.isArray(block.citations) ? block.citations : []), delta.citation];
  }
}

/** A block that has an input already: every number as it was written. */
export const exactly = <Start extends Block>(block: Start, data: string): Start =>
  isJsonObject(block.input) && Object.keys(block.input).length > 0
    ? { ...block, input: objectOf(objectOf(parseExactly(data)).content_block).input }
    : block;
