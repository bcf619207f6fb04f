import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Identity } from '@gateway/contracts/identity';
import { fitsPattern } from '@gateway/contracts/models/model-pattern';
import type { ConversationRules } from '@gateway/upstream/configuration/configuration';
import type { StoredItem, StoredRecord } from '../../stored/conversations/conversation-store.ts';
import { originIn } from '../../stored/kept-response.ts';
import type { FoundOrigin, IdOrigin } from '../../stored/origins/id-origins.ts';
import { type Maker, makerName } from '../../stored/origins/maker.ts';
import type { NamedId } from '../../stored/origins/named-ids.ts';
import type { History, PreviousResponse } from '../request/history.ts';
import type { ResponseMemory } from '../request/response-memory.ts';
import type { TextServices } from '../request/text-call.ts';
import type { TextEndpoint } from '../request/text-endpoint.ts';
import type { TextRequest } from '../request/text-request.ts';
import { ownersOf } from './conversation-space.ts';
import { findConversation, readConversation } from './named-conversation.ts';
import { previousNotFound } from './not-found.ts';

type OpenCall = {
  readonly services: TextServices;
  readonly endpoint: TextEndpoint;
  readonly identity: Identity;
  readonly request: TextRequest;
  readonly memory?: ResponseMemory;
};

const NO_ITEMS: ReadonlyMap<string, StoredItem> = new Map();
const NOTHING_NAMED = {
  previous: null,
  remembered: null,
  conversation: null,
  items: NO_ITEMS,
  bytes: 0,
  origins: [],
  holder: null,
  isWhole: true,
  window: async () => [],
};

/**
 * Looks up what a request names.
 *
 * @throws {GatewayError} `previous_response_not_found` where something of the conversation is gone; for a conversation that
 * cannot be continued; `service_unavailable`
 */
export async function findHistory(call: OpenCall): Promise<History> {
  const { services, identity, request } = call;
  const rules = services.upstream.configuration.conversations;
  const owners = ownersOf(identity, rules);
  const storing = storingOf(call, rules);
  const [owner] = owners;
  const { ids } = request;
  if (ids.length === 0) return { ...NOTHING_NAMED, storing, owner };
  const named = call.endpoint.protocol === 'responses' ? ids : [];
  const previousId = named.find(isPrevious)?.id;
  const conversationId = named.find(({ kind }) => kind === 'conversation')?.id;
  const remembered = previousId === undefined ? null : (call.memory?.find(previousId) ?? null);
  const itemIds = named.flatMap(({ kind, id, need }) => (kind === 'item' && need !== 'none' ? [id] : []));
  const [found, conversation, items, origins] = await Promise.all([
    previousId === undefined || remembered !== null
      ? null
      : findResponse(services, owners, previousId, rules),
    conversationId === undefined ? null : findConversation(call, conversationId),
    findItems(services, owners, { ids: itemIds, maxBytes: rules.maxChainBytes }),
    remembered !== null && ids.length === 1 ? [UNKNOWN] : services.origins.find(ids, identity.keyId),
  ]);
  if (found !== null) checkPrevious(found.previous, rules);
  const required = named
    .map((id, index) => ({ id, origin: origins[index] }))
    .filter(({ id }) => id.need === 'required' && (id.kind === 'response' || id.kind === 'item'));
  const makers = required.map(({ id, origin }) =>
    isPrevious(id) && found !== null ? makerAtProvider(found.previous) : knownMaker(origin),
  );
  const [holder = null] = makers;
  const isHeld = holder !== null && makers.every((maker) => maker && makerName(maker) === makerName(holder));
  let window: Promise<readonly StoredItem[]> | null = null;
  return {
    storing,
    owner: found?.owner ?? conversation?.owner ?? owner,
    previous: found?.previous ?? null,
    remembered,
    conversation,
    items,
    bytes:
      (found?.previous.bytes ?? remembered?.bytes ?? conversation?.bytes ?? 0) + bytesOf(required, items),
    origins,
    holder: isHeld ? holder : null,
    isWhole: ids.every(
      ({ kind, id, need, path }) =>
        need !== 'required' ||
        (path[0] === 'previous_response_id'
          ? remembered !== null || (found !== null && canBeSent(found.previous))
          : kind === 'conversation'
            ? conversation !== null
            : kind === 'item' && items.has(id)),
    ),
    window: () => {
      if (remembered !== null) window ??= remembered.items();
      else if (found !== null) window ??= readWindow(services, found.owner, found.previous.id);
      else if (conversation !== null) window ??= readConversation(services, conversation);
      return window ?? Promise.resolve([]);
    },
  };
}

const bytesOf = (
  named: readonly { readonly id: NamedId }[],
  items: ReadonlyMap<string, StoredItem>,
): number => named.reduce((sum, { id: { id } }) => sum + Buffer.byteLength(items.get(id)?.json ?? ''), 0);

const UNKNOWN: FoundOrigin = 'unknown';

const isPrevious = ({ path }: NamedId): boolean => path[0] === 'previous_response_id';

const isKnown = (origin: FoundOrigin | undefined): origin is IdOrigin => typeof origin === 'object';
const knownMaker = (origin: FoundOrigin | undefined): Maker | null => (isKnown(origin) ? origin : null);

function makerAtProvider({ data }: StoredRecord): Maker | null {
  const origin = originIn(data);
  return origin.isProviders ? origin : null;
}

function storingOf(
  { endpoint, identity, request }: OpenCall,
  { neverKept: { keys, models } }: ConversationRules,
): History['storing'] {
  if (endpoint.operation !== 'responses' || !request.stored) return 'unwanted';
  const isNever =
    keys.includes(identity.keyId) || models.some((pattern) => fitsPattern(pattern, request.model));
  return isNever ? 'refused' : 'kept';
}

/** A kept response among those of these owners; its retention begins again. */
export async function findResponse(
  { conversations }: Pick<TextServices, 'conversations'>,
  owners: readonly string[],
  id: string,
  { retentionMs }: ConversationRules,
): Promise<{ readonly owner: string; readonly previous: PreviousResponse } | null> {
  for (const owner of owners) {
    const found = await conversations.read({ owner, kind: 'response', id }, { retentionMs });
    if (found !== null) return { owner, previous: { ...found.record, id } };
  }
  return null;
}

interface NamedItems {
  /** An id that is named twice is listed twice, because the request will hold its item twice. */
  readonly ids: readonly string[];
  readonly maxBytes: number;
}

async function findItems(
  { conversations }: TextServices,
  owners: readonly string[],
  { ids, maxBytes }: NamedItems,
): Promise<ReadonlyMap<string, StoredItem>> {
  if (ids.length === 0) return NO_ITEMS;
  const items = new Map<string, StoredItem>();
  for (const owner of owners) {
    const list = await conversations.items(owner, ids, maxBytes);
    if (list === null) throw itemsTooLarge(maxBytes);
    for (const [index, item] of list.entries()) {
      const id = ids[index] ?? '';
      if (item !== null && !items.has(id)) items.set(id, item);
    }
  }
  return items;
}

const itemsTooLarge = (maxBytes: number): GatewayError =>
  new GatewayError('context_length_exceeded', {
    path: ['input'],
    message: `The items that the request names by their ids have more than ${maxBytes} bytes in all. Name fewer of them.`,
  });

/** Whether the gateway can send a response to another channel. If it failed or has not ended, only its provider can continue it. */
const canBeSent = ({ data }: StoredRecord): boolean => !NOT_CONTINUED.has(data.status);

const PATH = ['previous_response_id'];
/** Responses with these statuses cannot be continued. */
const NOT_CONTINUED = new Set<unknown>(['queued', 'in_progress', 'failed']);

function checkPrevious(
  { id, missing, depth, bytes, data }: PreviousResponse,
  { maxChainLength, maxChainBytes }: ConversationRules,
): void {
  if (missing !== null) throw previousNotFound(missing, PATH);
  if (depth >= maxChainLength || bytes > maxChainBytes) {
    throw new GatewayError('context_length_exceeded', {
      path: PATH,
      message: `The conversation that response '${id}' continues is too long: ${depth} responses of ${bytes} bytes. At most ${maxChainLength} responses of ${maxChainBytes} bytes are continued. Begin a new conversation, with a summary of this one.`,
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
