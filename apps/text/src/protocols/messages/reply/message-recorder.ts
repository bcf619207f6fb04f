import type { NewItem } from '../../../stored/store/window-nodes.ts';
import { isObject, type JsonObject, objectAt, parseObject, textAt } from '../../../wire/json-object.ts';
import { TurnRecorder } from './paused-turn.ts';

/** A whole message of the assistant, as far as a later turn needs it. */
export interface RecordedMessage {
  readonly id: string;
  readonly content: readonly unknown[];
}

/** The same as the thread has written it. */
export interface StoredMessage {
  readonly id: string;
  readonly item: NewItem;
}

/**
 * The reply that a conversation may go on from; null for a message that refuses, and for one that another model wrote
 * instead of the requested one: for their callers such a turn is one that was not kept.
 */
export function recordedMessage(message: JsonObject): RecordedMessage | null {
  const id = textAt(message, 'id');
  const { content, stop_reason: reason } = message;
  if (id === null || !Array.isArray(content) || reason === 'refusal' || isOfAnother(message)) return null;
  return { id, content };
}

const isOfAnother = (message: JsonObject): boolean => {
  const iterations = objectAt(message, 'usage')?.iterations;
  return (
    Array.isArray(iterations) &&
    iterations.some((iteration) => isObject(iteration) && iteration.type === 'fallback_message')
  );
};

/** Puts a streamed message together from the events that its caller gets. */
export class MessageRecorder {
  readonly #turn = new TurnRecorder();
  #id: string | null = null;
  #reason: unknown = null;
  #usage: JsonObject = {};
  #isWhole = false;

  /** Takes an event's data. */
  record(data: string): void {
    const event = parseObject(data);
    if (event === null) return;
    switch (event.type) {
      case 'message_start':
        this.#id = textAt(objectAt(event, 'message') ?? {}, 'id');
        this.#addUsage(objectAt(event, 'message'));
        break;
      case 'message_delta':
        this.#reason = objectAt(event, 'delta')?.stop_reason ?? this.#reason;
        this.#addUsage(event);
        break;
      case 'message_stop':
        this.#isWhole = true;
        break;
      default:
        this.#turn.record(data);
    }
  }

  /** Null before the message's end, and where it is not to be kept. */
  get message(): RecordedMessage | null {
    if (!this.#isWhole || this.#id === null) return null;
    return recordedMessage({
      id: this.#id,
      content: this.#turn.content,
      stop_reason: this.#reason,
      usage: this.#usage,
    });
  }

  #addUsage(holder: JsonObject | null): void {
    this.#usage = { ...this.#usage, ...(holder && objectAt(holder, 'usage')) };
  }
}
