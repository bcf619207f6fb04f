import { GatewayError } from '@gateway/contracts/gateway-error';
import { fitsPattern } from '@gateway/contracts/models/model-pattern';
import type { ConversationRules } from '@gateway/upstream/configuration/configuration';
import type { FoundOrigin, IdOrigin } from '../../stored/origins/id-origins.ts';
import { type Maker, makerName } from '../../stored/origins/maker.ts';
import type { NamedId } from '../../stored/origins/named-ids.ts';
import type { StoredItem } from '../../stored/store/conversation-store.ts';
import type { Continued, History } from '../request/history.ts';
import type { OpenedCall, TextServices } from '../request/text-call.ts';
import { continueConversation, continueRemembered, continueStored } from './continued.ts';
import { ownersOf } from './conversation-space.ts';
import { continueThread } from './threads/continue-thread.ts';

/** A request that has been read, of which nothing has been looked up. */
export type OpenCall = Pick<
  OpenedCall,
  'services' | 'endpoint' | 'identity' | 'context' | 'caller' | 'request' | 'memory'
>;

export type FindHistory = (call: OpenCall) => Promise<History>;

const NO_ITEMS: ReadonlyMap<string, StoredItem> = new Map();
const NOTHING_NAMED = {
  items: NO_ITEMS,
  bytes: 0,
  origins: [],
  holder: null,
  isWhole: true,
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
  const turn = request.thread === null ? null : continueThread(call, findHistory);
  if (ids.length === 0) return { ...NOTHING_NAMED, continued: turn, storing, owner };
  const named = call.endpoint.protocol === 'responses' ? ids : [];
  const itemIds = named.flatMap(({ kind, id, need }) => (kind === 'item' && need !== 'none' ? [id] : []));
  const continuing = turn ?? findContinued(call, named, owners);
  const isRemembered = continuing !== null && !(continuing instanceof Promise) && !continuing.isStored;
  const [continued, items, origins] = await Promise.all([
    continuing,
    findItems(services, owners, { ids: itemIds, maxBytes: rules.maxChainBytes }),
    isRemembered && ids.length === 1
      ? [UNKNOWN]
      : services.origins.find(ids, { keyId: identity.keyId, owners }),
  ]);
  const required = named
    .map((id, index) => ({ id, origin: origins[index] }))
    .filter(({ id }) => id.need === 'required' && (id.kind === 'response' || id.kind === 'item'));
  const makers = required.map(({ id, origin }) =>
    isPrevious(id) && continued?.isStored ? continued.holder : knownMaker(origin),
  );
  const [holder = null] = makers;
  const isHeld = holder !== null && makers.every((maker) => maker && makerName(maker) === makerName(holder));
  return {
    storing,
    owner: continued?.owner ?? owner,
    continued,
    items,
    bytes: (continued?.bytes ?? 0) + bytesOf(required, items),
    origins,
    holder: isHeld ? holder : null,
    isWhole: ids.every(
      (id) =>
        id.need !== 'required' ||
        (isPrevious(id) || id.kind === 'conversation'
          ? (continued?.isWhole ?? false)
          : id.kind === 'item' && items.has(id.id)),
    ),
  };
}

/** What a request continues is of one kind. */
function findContinued(
  call: OpenCall,
  named: readonly NamedId[],
  owners: readonly string[],
): Continued | null | Promise<Continued | null> {
  const previous = named.find(isPrevious);
  if (previous !== undefined) {
    const remembered = call.memory?.find(previous.id) ?? null;
    return remembered === null
      ? continueStored(call.services, owners, previous.id)
      : continueRemembered(remembered);
  }
  const conversation = named.find(({ kind }) => kind === 'conversation');
  return conversation === undefined ? null : continueConversation(call, conversation.id, findHistory);
}

const bytesOf = (
  named: readonly { readonly id: NamedId }[],
  items: ReadonlyMap<string, StoredItem>,
): number => named.reduce((sum, { id: { id } }) => sum + Buffer.byteLength(items.get(id)?.json ?? ''), 0);

const UNKNOWN: FoundOrigin = 'unknown';

const isPrevious = ({ path }: NamedId): boolean => path[0] === 'previous_response_id';

const isKnown = (origin: FoundOrigin | undefined): origin is IdOrigin => typeof origin === 'object';
const knownMaker = (origin: FoundOrigin | undefined): Maker | null => (isKnown(origin) ? origin : null);

function storingOf(
  { endpoint, identity, request }: OpenCall,
  { neverKept: { keys, models } }: ConversationRules,
): History['storing'] {
  if (endpoint.operation !== 'responses' || !request.stored) return 'unwanted';
  const isNever =
    keys.includes(identity.keyId) || models.some((pattern) => fitsPattern(pattern, request.model));
  return isNever ? 'refused' : 'wanted';
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
