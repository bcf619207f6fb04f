import { isCompactionItem } from '@gateway/contracts/openai/responses';
import { isObject, type JsonObject, objectAt, textAt } from '../../wire/json-object.ts';
import type { TextProtocol } from '../../wire/text-protocol.ts';
import { compactionDigest, isSealedHere } from '../../wire/tokens/compaction-seal.ts';
import type { ProviderId } from './id-origins.ts';

/** An id that a request names: of something that an earlier reply gave to a caller. */
export interface NamedId extends ProviderId {
  readonly path: readonly (string | number)[];
  /**
   * How far the request depends on it. `required`: the request has nothing instead of it, so that it has to be known.
   * `preferred`: the channel that knows it comes first. `none`: it only must not be another key's.
   */
  readonly need: 'required' | 'preferred' | 'none';
}

type Path = NamedId['path'];

const READERS: Readonly<Record<TextProtocol, (body: JsonObject) => Iterable<NamedId | null>>> = {
  responses: idsOfResponses,
  messages: idsOfMessages,
  chat: idsOfChat,
  // What it names, as a cache or a file, is the organisation's.
  gemini: () => [],
};

/** Every id of a request that is one key's own. Files, vector stores and prompts are the organisation's, made by its operator. */
export function namedIds(protocol: TextProtocol, body: JsonObject): readonly NamedId[] {
  const ids: NamedId[] = [];
  for (const id of READERS[protocol](body)) if (id !== null) ids.push(id);
  return ids;
}

const named = (
  kind: NamedId['kind'],
  id: unknown,
  path: Path,
  need: NamedId['need'] = 'required',
): NamedId | null => (typeof id === 'string' ? { kind, id, path, need } : null);

/** Providers take an id alone, or an object that holds it. */
const idOf = (value: unknown): unknown => (isObject(value) ? value.id : value);

const entriesOf = (value: unknown): Iterable<readonly [number, unknown]> =>
  Array.isArray(value) ? value.entries() : [];

function* idsOfResponses(body: JsonObject): Generator<NamedId | null> {
  yield named('response', body.previous_response_id, ['previous_response_id']);
  yield named('conversation', idOf(body.conversation), ['conversation']);
  const compared = objectAt(body, 'prompt_cache_options')?.comparison_response_id;
  yield named('response', compared, ['prompt_cache_options', 'comparison_response_id']);
  for (const [index, item] of entriesOf(body.input)) {
    if (isObject(item)) yield* idsOfItem(item, ['input', index]);
  }
  yield* idsOfTools(body.tools, ['tools']);
}

function* idsOfTools(tools: unknown, path: Path): Generator<NamedId | null> {
  for (const [index, tool] of entriesOf(tools)) {
    if (isObject(tool)) yield named('container', tool.container, [...path, index, 'container'], 'preferred');
  }
}

function* idsOfItem(item: JsonObject, path: Path): Generator<NamedId | null> {
  const type = textAt(item, 'type');
  if (type === 'item_reference' || (type === null && !('role' in item) && !('content' in item))) {
    yield named('item', item.id, path);
  }
  // A picture without its bytes is looked up by its id.
  if (type === 'image_generation_call' && !item.result) yield named('item', item.id, path);
  // So is reasoning that is not sealed, by providers that keep it; others read its text.
  if (type === 'reasoning' && !item.encrypted_content) {
    yield named('item', item.id, path, hasEntries(item.content) ? 'none' : 'preferred');
  }
  if (isCompactionItem(item)) yield sealedElsewhere(item.encrypted_content, [...path, 'encrypted_content']);
  yield named('container', item.container_id, path, 'preferred');
  yield* idsOfTools(item.tools, [...path, 'tools']);
}

const hasEntries = (value: unknown): boolean => Array.isArray(value) && value.length > 0;

/** A compaction goes back to who made it; what the gateway sealed, it opens for any provider. */
const sealedElsewhere = (sealed: unknown, path: Path): NamedId | null =>
  typeof sealed !== 'string' || isSealedHere(sealed)
    ? null
    : named('compaction', compactionDigest(sealed), path, 'preferred');

function* idsOfMessages(body: JsonObject): Generator<NamedId | null> {
  const path = ['thread', 'previous_message_id'];
  yield named('message', objectAt(body, 'thread')?.previous_message_id, path);
  const compared = objectAt(body, 'diagnostics')?.previous_message_id;
  yield named('message', compared, ['diagnostics', 'previous_message_id'], 'none');
  yield named('container', idOf(body.container), ['container'], 'preferred');
  for (const [index, message] of entriesOf(body.messages)) {
    if (!isObject(message)) continue;
    for (const [at, block] of entriesOf(message.content))
      if (isObject(block) && block.type === 'compaction')
        yield sealedElsewhere(block.encrypted_content ?? block.signature, ['messages', index, 'content', at]);
  }
}

function* idsOfChat(body: JsonObject): Generator<NamedId | null> {
  for (const [index, message] of entriesOf(body.messages)) {
    const audio = isObject(message) ? objectAt(message, 'audio') : null;
    yield named('audio', audio?.id, ['messages', index, 'audio', 'id'], 'preferred');
  }
}
