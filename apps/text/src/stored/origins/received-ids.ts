import type { Frame } from '@gateway/contracts/event-stream/frame-reader';
import { quoted, STREAM_EVENTS } from '@gateway/contracts/event-stream/stream-events';
import { isCompactionItem } from '@gateway/contracts/openai/responses';
import { isObject, type JsonObject, objectAt, parseObject, textAt } from '../../wire/json-object.ts';
import type { TextProtocol } from '../../wire/text-protocol.ts';
import { compactionDigest, isSealedHere } from '../../wire/tokens/compaction-seal.ts';
import type { IdKind, ProviderId } from './id-origins.ts';

/** What of a reply its provider keeps, by its request. */
export interface Kept {
  /** Responses: `store`. */
  readonly responses: boolean;
  /** Messages: the request is part of a thread, or requests diagnostics against an earlier message. */
  readonly messages: boolean;
}

/** The ids of a whole reply that a later request of its caller may name. */
export function receivedIds(protocol: TextProtocol, reply: JsonObject, kept: Kept): readonly ProviderId[] {
  const ids: ProviderId[] = [];
  const add = (kind: IdKind, id: unknown) => {
    if (typeof id === 'string' && id !== '') ids.push({ kind, id });
  };
  if (protocol === 'responses') {
    if (kept.responses) add('response', reply.id);
    add('conversation', objectAt(reply, 'conversation')?.id);
    for (const item of objectsOf(reply.output)) {
      if (kept.responses) add('item', item.id);
      if (isCompactionItem(item)) add('compaction', digestOf(item.encrypted_content));
      add('container', item.container_id);
    }
  } else if (protocol === 'messages') {
    if (kept.messages) add('message', reply.id);
    add('container', objectAt(reply, 'container')?.id);
    for (const block of [reply, ...objectsOf(reply.content)]) {
      if (block.type === 'compaction' || block.type === 'compaction_delta')
        add('compaction', digestOf(block.encrypted_content ?? block.signature));
    }
  } else if (protocol === 'chat') {
    for (const choice of objectsOf(reply.choices)) {
      const message = objectAt(choice, 'message') ?? objectAt(choice, 'delta');
      add('audio', (message && objectAt(message, 'audio'))?.id);
    }
  }
  return ids;
}

/** What the gateway has sealed, it knows without remembering it. */
const digestOf = (sealed: unknown): string | null =>
  typeof sealed === 'string' && !isSealedHere(sealed) ? compactionDigest(sealed) : null;

const objectsOf = (list: unknown): readonly JsonObject[] =>
  Array.isArray(list) ? list.filter(isObject) : [];

/** The items of a list such as `GET /v1/responses/{id}/input_items`. */
export const listedItems = (list: JsonObject): readonly ProviderId[] =>
  objectsOf(list.data).flatMap((item) => {
    const id = textAt(item, 'id');
    return id === null ? [] : [{ kind: 'item', id }];
  });

/** What the few events hold that bring ids: the others are not parsed. */
const BRINGS_IDS: Readonly<Record<TextProtocol, readonly string[]>> = {
  responses: quoted(Object.keys(STREAM_EVENTS.responses.end)),
  messages: ['"container"', '"compaction_delta"'],
  chat: ['"audio"'],
  gemini: [],
};

/** Whether an event may bring ids. */
export const bringsIds = (protocol: TextProtocol, frame: Pick<Frame, 'includes'>): boolean =>
  BRINGS_IDS[protocol].some((text) => frame.includes(text));

/** The part of a stream's event that has the members of a whole reply; null for events that bring no ids. */
export function replyWithin(
  protocol: TextProtocol,
  frame: Pick<Frame, 'includes' | 'data'>,
): JsonObject | null {
  if (!bringsIds(protocol, frame)) return null;
  const event = frame.data === null ? null : parseObject(frame.data);
  if (event === null || protocol === 'chat') return event;
  return objectAt(event, 'response') ?? objectAt(event, 'message') ?? objectAt(event, 'delta');
}
