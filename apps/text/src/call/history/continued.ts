import { GatewayError } from '@gateway/contracts/gateway-error';
import type { ConversationRules } from '@gateway/upstream/configuration/configuration';
import { conversationNotFound } from '../../stored/conversation-errors.ts';
import { originIn } from '../../stored/response-record.ts';
import type { StoredItem, StoredRecord } from '../../stored/store/conversation-store.ts';
import { type ConversationHead, storedConversations } from '../../stored/stored-conversations.ts';
import { contextTokens } from '../request/earlier-input.ts';
import type { Continued, RememberedResponse } from '../request/history.ts';
import type { TextServices } from '../request/text-call.ts';
import { spaceOf } from './conversation-space.ts';
import type { FindHistory, OpenCall } from './find-history.ts';
import { lockConversation } from './lock-conversation.ts';
import { previousNotFound } from './not-found.ts';

/** A stored response, and whose it is. */
export interface FoundResponse {
  readonly owner: string;
  readonly id: string;
  readonly record: StoredRecord;
}

/** A stored response among those of these owners; its retention begins again. */
export async function findResponse(
  { conversations }: Pick<TextServices, 'conversations'>,
  owners: readonly string[],
  id: string,
  { retentionMs }: ConversationRules,
): Promise<FoundResponse | null> {
  for (const owner of owners) {
    const found = await conversations.read({ owner, kind: 'response', id }, { retentionMs });
    if (found !== null) return { owner, id, record: found.record };
  }
  return null;
}

/** @throws {GatewayError} where something of it is gone, or it cannot be continued */
export async function continueStored(
  services: TextServices,
  owners: readonly string[],
  id: string,
): Promise<Continued | null> {
  const rules = services.upstream.configuration.conversations;
  const found = await findResponse(services, owners, id, rules);
  if (found === null) return null;
  const { owner, record } = found;
  checkPrevious(found, rules);
  const origin = originIn(record.data);
  return {
    kind: 'response',
    id,
    owner,
    isStored: true,
    conversation: null,
    bytes: record.bytes,
    tokens: contextTokens(record.data),
    holder: origin.isProviders ? origin : null,
    isWhole: !NOT_CONTINUED.has(record.data.status),
    servedBy: origin.channel === '' ? null : origin,
    turn: null,
    session: origin.session,
    members: { previous_response_id: id },
    window: once(() => readWindow(services, owner, id)),
  };
}

/** A response that only the caller's connection has. */
export const continueRemembered = (remembered: RememberedResponse): Continued => ({
  kind: 'response',
  id: remembered.id,
  owner: null,
  isStored: false,
  conversation: null,
  bytes: remembered.bytes,
  tokens: remembered.tokens,
  holder: null,
  isWhole: true,
  servedBy: remembered.servedBy,
  turn: null,
  members: { previous_response_id: remembered.id },
  window: () => remembered.items(),
});

/** Null: the gateway does not store it. @throws {GatewayError} `context_length_exceeded`, `service_unavailable` */
export async function continueConversation(
  call: OpenCall,
  id: string,
  findHistory: FindHistory,
): Promise<Continued | null> {
  const { services, identity } = call;
  const rules = services.upstream.configuration.conversations;
  const space = spaceOf(identity, null, rules);
  const head = space && (await storedConversations(services.conversations, space).head(id));
  if (head === null) return null;
  checkSize(head, rules);
  return {
    kind: 'conversation',
    id,
    owner: head.owner,
    isStored: true,
    conversation: head,
    bytes: head.bytes,
    // Its items may be files.
    tokens: head.bytes > 0 ? Number.POSITIVE_INFINITY : 0,
    holder: null,
    isWhole: true,
    servedBy: null,
    turn: null,
    claim: async (purpose) => (purpose === 'generating' ? lockConversation(call, id, findHistory) : {}),
    members: { conversation: { id } },
    window: once(() => readConversation(services, head)),
  };
}

function once<Value>(read: () => Promise<Value>): () => Promise<Value> {
  let reading: Promise<Value> | null = null;
  return () => {
    reading ??= read();
    return reading;
  };
}

function checkSize({ id, bytes }: ConversationHead, { maxChainBytes }: ConversationRules): void {
  if (bytes <= maxChainBytes) return;
  throw new GatewayError('context_length_exceeded', {
    path: ['conversation'],
    message: `Conversation '${id}' has ${bytes} bytes; at most ${maxChainBytes} are sent to a model. Delete items, or start a new one.`,
  });
}

/** The items of a conversation, in their order. @throws {GatewayError} if it is gone */
async function readConversation(
  { conversations }: TextServices,
  { owner, id }: ConversationHead,
): Promise<readonly StoredItem[]> {
  const found = await conversations.read(
    { owner, kind: 'conversation', id },
    { retentionMs: null, items: 'window' },
  );
  if (found === null) throw conversationNotFound(id, ['conversation']);
  return found.items;
}

const PATH = ['previous_response_id'];
/** Responses with these statuses cannot be continued, but by a provider that has them. */
const NOT_CONTINUED = new Set<unknown>(['queued', 'in_progress', 'failed']);

function checkPrevious(
  { id, record: { missing, depth, bytes, data } }: FoundResponse,
  { maxChainLength, maxChainBytes }: ConversationRules,
): void {
  if (missing !== null) throw previousNotFound(missing, PATH);
  if (depth >= maxChainLength || bytes > maxChainBytes) {
    throw new GatewayError('context_length_exceeded', {
      path: PATH,
      message: `The conversation that response '${id}' continues is too long: ${depth} responses of ${bytes} bytes. At most ${maxChainLength} responses of ${maxChainBytes} bytes can be continued. Start a new conversation with a summary of this one.`,
    });
  }
  if (NOT_CONTINUED.has(data.status) && !originIn(data).isProviders) {
    throw new GatewayError('invalid_value', {
      path: PATH,
      message: `Previous response '${id}' cannot be continued: its status is '${String(data.status)}'.`,
    });
  }
}

async function readWindow(
  { conversations }: TextServices,
  owner: string,
  id: string,
): Promise<readonly StoredItem[]> {
  const found = await conversations.read(
    { owner, kind: 'response', id },
    { retentionMs: null, items: 'window' },
  );
  const missing = found === null ? id : found.record.missing;
  if (missing !== null) throw previousNotFound(missing, PATH);
  return found?.items ?? [];
}
