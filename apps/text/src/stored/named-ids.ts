import { isObject, type JsonObject, objectAt, textAt } from '../json-object.ts';
import type { TextProtocol } from '../protocols/conversation/text-protocol.ts';
import type { ProviderId } from './id-origins.ts';

/** An id that a request names: of something that an earlier reply gave to a caller. */
export interface NamedId extends ProviderId {
  readonly path: readonly (string | number)[];
  /**
   * Nothing stands for the id in the request itself, so that it has to be known. Others are only kept from being another
   * key's: an echoed item that the provider may or may not look up, a container that the operator made.
   */
  readonly isRequired: boolean;
}

type Path = NamedId['path'];

const READERS: Readonly<Record<TextProtocol, (body: JsonObject) => Iterable<NamedId | null>>> = {
  responses: idsOfResponses,
  messages: idsOfMessages,
  chat: idsOfChat,
};

/** Every id of a request that is one key's own. Files, vector stores and prompts are the organisation's, made by its operator. */
export function namedIds(protocol: TextProtocol, body: JsonObject): readonly NamedId[] {
  const named: NamedId[] = [];
  for (const id of READERS[protocol](body)) if (id !== null) named.push(id);
  return named;
}

const required = (kind: NamedId['kind'], id: unknown, path: Path): NamedId | null =>
  typeof id === 'string' ? { kind, id, path, isRequired: true } : null;

const optional = (kind: NamedId['kind'], id: unknown, path: Path): NamedId | null =>
  typeof id === 'string' ? { kind, id, path, isRequired: false } : null;

/** Providers take an id alone, or an object that holds it. */
const idOf = (value: unknown): unknown => (isObject(value) ? value.id : value);

const entriesOf = (value: unknown): Iterable<readonly [number, unknown]> =>
  Array.isArray(value) ? value.entries() : [];

function* idsOfResponses(body: JsonObject): Generator<NamedId | null> {
  yield required('response', body.previous_response_id, ['previous_response_id']);
  yield required('conversation', idOf(body.conversation), ['conversation']);
  const compared = objectAt(body, 'prompt_cache_options')?.comparison_response_id;
  yield required('response', compared, ['prompt_cache_options', 'comparison_response_id']);
  for (const [index, item] of entriesOf(body.input)) {
    if (isObject(item)) yield* idsOfItem(item, ['input', index]);
  }
  yield* idsOfTools(body.tools, ['tools']);
}

function* idsOfTools(tools: unknown, path: Path): Generator<NamedId | null> {
  for (const [index, tool] of entriesOf(tools)) {
    if (isObject(tool)) yield optional('container', tool.container, [...path, index, 'container']);
  }
}

function* idsOfItem(item: JsonObject, path: Path): Generator<NamedId | null> {
  const type = textAt(item, 'type');
  if (type === 'item_reference' || (type === null && !('role' in item) && !('content' in item))) {
    yield required('item', item.id, path);
  }
  // A picture without its bytes is looked up by its id.
  if (type === 'image_generation_call' && !item.result) yield required('item', item.id, path);
  // So is reasoning that comes without what it was, by providers that keep it.
  if (type === 'reasoning' && !item.encrypted_content && !hasEntries(item.content)) {
    yield optional('item', item.id, path);
  }
  yield optional('container', item.container_id, path);
  yield* idsOfTools(item.tools, [...path, 'tools']);
}

const hasEntries = (value: unknown): boolean => Array.isArray(value) && value.length > 0;

function* idsOfMessages(body: JsonObject): Generator<NamedId | null> {
  const path = ['thread', 'previous_message_id'];
  yield required('message', objectAt(body, 'thread')?.previous_message_id, path);
  const compared = objectAt(body, 'diagnostics')?.previous_message_id;
  yield optional('message', compared, ['diagnostics', 'previous_message_id']);
  yield optional('container', idOf(body.container), ['container']);
}

function* idsOfChat(body: JsonObject): Generator<NamedId | null> {
  for (const [index, message] of entriesOf(body.messages)) {
    const audio = isObject(message) ? objectAt(message, 'audio') : null;
    yield optional('audio', audio?.id, ['messages', index, 'audio', 'id']);
  }
}
