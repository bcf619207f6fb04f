import { MessagesEvent, MessagesReply } from '@gateway/contracts/anthropic/messages-wire';
import { parseArguments } from '../../../wire/raw-json.ts';

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

/** Puts the blocks of a streamed message together again, unaltered, as `continueTurn` must send them back. */
export class TurnRecorder {
  readonly content: Block[] = [];
  #block: { [member: string]: unknown } | null = null;
  #json = '';

  record(data: string): void {
    if (data === '[DONE]') return;
    const { type, content_block: block, delta } = MessagesEvent.parse(JSON.parse(data));
    if (type === 'content_block_start' && block !== undefined) {
      this.#block = { ...block };
      this.#json = '';
    } else if (type === 'content_block_delta' && delta !== undefined) this.#extend(delta);
    else if (type === 'content_block_stop' && this.#block !== null) {
      const input = this.#json === '' ? {} : { input: parseArguments(this.#json) ?? {} };
      this.content.push({ ...this.#block, ...input });
      this.#block = null;
    }
  }

  #extend(delta: NonNullable<MessagesEvent['delta']>): void {
    const block = this.#block;
    if (block === null) return;
    if (delta.text !== undefined) block.text = `${block.text ?? ''}${delta.text}`;
    if (delta.thinking !== undefined) block.thinking = `${block.thinking ?? ''}${delta.thinking}`;
    if (delta.signature !== undefined) block.signature = delta.signature;
    if (delta.partial_json !== undefined) this.#json += delta.partial_json;
    if (delta.type === 'compaction_delta') {
      // It has the final values of the block's members.
      const { type: _, ...members } = delta;
      Object.assign(block, members);
    }
    if (delta.citation !== undefined) {
      block.citations = [...(Array.isArray(block.citations) ? block.citations : []), delta.citation];
    }
  }
}
