import type { IncomingMessage } from 'node:http';
import { outlineOf } from '@gateway/contracts/json/json-depth';
import { hasBody } from '@gateway/service-kit/request/check-request';
import type { PathParams } from '@gateway/service-kit/request/handler';
import { parseJson, readJsonBody, readJsonBytes } from '@gateway/service-kit/request/json-body';
import { contextOf, identityOf } from '@gateway/service-kit/request/request-context';
import { validate } from '@gateway/service-kit/request/validate';
import type { z } from 'zod';
import { spaceOf } from '../../call/history/conversation-space.ts';
import type { TextServices } from '../../call/request/text-call.ts';
import { inThread, type Waiting } from '../../large/in-thread.ts';
import { storedItemsIn } from '../../large/item-columns.ts';
import { isLarge, MAX_VALUES_HERE, sharedBytes } from '../../large/shared-bytes.ts';
import { conversationsOff, itemNotFound } from '../../stored/conversation-errors.ts';
import {
  type ConversationItem,
  type StoredConversation,
  type StoredConversations,
  storedConversations,
} from '../../stored/stored-conversations.ts';
import { type Adding, type Additions, additionsIn } from './additions.ts';

/** What a request may read and change. @throws {GatewayError} where nothing is kept for its caller */
export function conversationsOf(
  { conversations, upstream }: TextServices,
  incoming: IncomingMessage,
): StoredConversations {
  const space = spaceOf(identityOf(incoming), null, upstream.configuration.conversations);
  if (space === null) throw conversationsOff();
  return storedConversations(conversations, space);
}

/** The conversation that a request's path names; the log line has it too. */
export function namedConversation(incoming: IncomingMessage, params: PathParams): string {
  const id = String(params.id);
  contextOf(incoming).line.conversationId = id;
  return id;
}

/**
 * What a request puts into a conversation.
 *
 * @throws {GatewayError} for a body that cannot be read, or that is not what the endpoint takes
 */
export async function readAdditions(
  adding: Adding,
  incoming: IncomingMessage,
  services: TextServices,
  { owner }: Pick<StoredConversations, 'owner'>,
): Promise<Additions> {
  if (!hasBody(incoming.headers)) return additionsIn(adding, {});
  const { maxBodyBytes, maxJsonDepth: maxDepth } = services;
  const sent = await readJsonBytes(incoming, maxBodyBytes);
  const bytes = await checkedAdditions(sent, incoming, services);
  const outline = isLarge(bytes.length) ? null : outlineOf(bytes, maxDepth);
  if (outline !== null && outline.valueCount <= MAX_VALUES_HERE)
    return additionsIn(adding, parseJson(bytes, maxDepth, outline));
  const task = { adding, bytes: sharedBytes(bytes), maxDepth, owner };
  const { items, ...others } = await inThread('additions', task, waitingFor(incoming));
  return { ...others, items: storedItemsIn(items) };
}

/** The same with the texts that hooks let pass. @throws {GatewayError} where they block it */
async function checkedAdditions(
  bytes: Buffer,
  incoming: IncomingMessage,
  services: TextServices,
): Promise<Buffer> {
  const { hooks, upstream } = services;
  const context = contextOf(incoming);
  const begun = hooks.begin(upstream.configuration, {
    identity: identityOf(incoming),
    model: null,
    requestId: context.requestId,
    endUser: null,
    signal: context.signal,
    onNote: (text) => {
      context.line.hooks = text;
    },
  });
  if (begun === null) return bytes;
  const { checkedTexts } = await import('../../call/hooks/checked-texts.ts');
  return checkedTexts(bytes, await begun, { services, context, waiting: waitingFor(incoming) });
}

const waitingFor = (incoming: IncomingMessage): Waiting => ({
  owner: identityOf(incoming).keyId,
  signal: contextOf(incoming).signal,
  load: contextOf(incoming).load,
});

/**
 * The request's body. None at all is an empty object, as clients send none where every member may be left out.
 *
 * @throws {GatewayError} for a body that cannot be read, or that is not what the endpoint takes
 */
export async function readBody<Schema extends z.ZodType>(
  schema: Schema,
  incoming: IncomingMessage,
  { maxBodyBytes, maxJsonDepth }: TextServices,
): Promise<z.infer<Schema>> {
  const bounds = { maxBytes: maxBodyBytes, maxDepth: maxJsonDepth };
  return validate(schema, hasBody(incoming.headers) ? (await readJsonBody(incoming, bounds)).value : {});
}

/** The items of a request, with those that its owner has under an id instead of what names them by the id alone. */
export async function addedItems(
  conversations: StoredConversations,
  { items }: Additions,
): Promise<readonly ConversationItem[]> {
  const ids = items.filter(isNamed).map(({ id }) => id);
  const found = new Map((await conversations.named(ids)).map((item, index) => [ids[index], item]));
  return items.map((item) => {
    if (!isNamed(item)) return item;
    const named = found.get(item.id);
    if (!named) throw itemNotFound(item.id, 'items');
    return named;
  });
}

const isNamed = ({ json }: ConversationItem): boolean => json.length === 0;

/** A conversation as callers see it. */
export const shownConversation = ({ id, createdAt, metadata }: StoredConversation) => ({
  id,
  object: 'conversation',
  created_at: createdAt,
  metadata,
});
