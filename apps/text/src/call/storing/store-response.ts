import { randomUUID } from 'node:crypto';
import type { Candidate } from '@gateway/upstream/candidate';
import type { ReadResponse } from '../../large/data-columns.ts';
import type { Dropped } from '../../neutral/losses.ts';
import type { ProviderId } from '../../stored/origins/id-origins.ts';
import { makerAt, makerName, originAt } from '../../stored/origins/maker.ts';
import { receivedIds } from '../../stored/origins/received-ids.ts';
import { dataOf, outputItems } from '../../stored/response-record.ts';
import type { NewRecord } from '../../stored/store/conversation-store.ts';
import type { NewItem } from '../../stored/store/window-nodes.ts';
import { type JsonObject, textAt } from '../../wire/json-object.ts';
import { newId } from '../../wire/tokens/new-id.ts';
import { logProvidersCompaction } from '../accounting/call-log.ts';
import { namesOf } from '../request/conversation-key.ts';
import { conversationIn, unstoredBefore } from '../request/history.ts';
import { ownInput } from '../request/own-input.ts';
import { type Remembered, remember } from '../request/response-memory.ts';
import type { TextCall } from '../request/text-call.ts';
import { addToConversation } from './add-to-conversation.ts';
import { decideStoring } from './decide-storing.ts';
import { putResponse } from './put-response.ts';

/** Members that replace those of the provider's response for the caller; null for none. */
export type Amendment = JsonObject | null;

/** Reported if the configuration forbids to store responses of this key or model. */
const NEVER_STORED: Dropped = {
  path: ['store'],
  reason: 'nothing is stored for this key or this model',
};

/** The loss of a call whose response must not be stored. */
export const lostStore = ({ history }: TextCall): readonly Dropped[] =>
  history.storing === 'refused' ? [NEVER_STORED] : [];

/** Under `x-gateway-strict`, not storing is a loss only if the request sets `store`. */
export const missed = ({ request }: TextCall, dropped: readonly Dropped[]): readonly Dropped[] =>
  request.setsStore ? dropped : dropped.filter((one) => one !== NEVER_STORED);

/** The header of a response that is not stored although its caller requested it. A stream has `store: false` in its last event. */
const [UNSTORED, NO] = ['x-gateway-stored', 'false'] as const;
export const UNSTORED_HEADER = { [UNSTORED]: NO };

/** Sets this header on a reply that has not begun. */
export const sayUnstored = ({ caller }: Pick<TextCall, 'caller'>): void => caller.note(UNSTORED, NO);

interface StoreOptions {
  /** The response with every member, parsed with `parseBody`, where `response` has only those that are read of every reply. */
  readonly whole?: () => JsonObject;
  /** What the thread has read of a large one, of which `response` has the small members. */
  readonly read?: (ReadResponse & { readonly ids: readonly ProviderId[] }) | null;
  /** Its provider stores it too. A provider never stores what the gateway has compacted. */
  readonly isProviders?: boolean;
}

/**
 * Stores a whole response, with the items that led to it, before its caller learns that it has ended; one that failed
 * after it began, with what had come. A response that is not stored is not read as a whole.
 *
 * @returns the members to replace in the response, so that it is true
 */
export async function storeResponse(
  call: TextCall,
  candidate: Candidate,
  response: JsonObject,
  {
    whole = () => response,
    read = null,
    isProviders = storesResponses(candidate) && !call.compacted,
  }: StoreOptions = {},
): Promise<Amendment> {
  const { history, identity, endpoint } = call;
  const { where, shown } = decideStoring({
    storing: history.storing,
    isProviders,
    saysUnstored: response.store === false,
    isWhole: history.isWhole,
  });
  const servedBy = makerAt(candidate);
  const parts = {
    servedBy,
    input: () => ownInput(call),
    output: () => read?.output ?? outputItems(whole(), makerName(servedBy)),
  };
  const items = async () => [...(await parts.input()), ...parts.output()];
  const members = await belonging(call, candidate, response, items);
  const amended = { ...members, ...(shown !== null && { store: shown }) };
  const origin = originAt(candidate, identity.keyId);
  const isNamed = isProviders && where !== 'nowhere';
  const kept = { responses: isNamed, messages: false };
  const received = () =>
    read === null ? receivedIds(endpoint.protocol, response, kept) : read.ids.filter(isReceived(isNamed));
  const ids = candidate.protocol === 'responses' ? received() : [];
  logProvidersCompaction(call, ids);
  const stored =
    where === 'here'
      ? await storeHere(call, response, {
          parts,
          data: (own) =>
            dataOf(
              { ...(read?.data ?? whole()), ...amended, ...own },
              {
                ...origin,
                isProviders,
                session: namesOf(call).session ?? textAt(own ?? response, 'id') ?? undefined,
              },
            ),
          received: { ids, origin },
          hasOwnIds: storesResponses(candidate),
        })
      : { isStored: (await rememberIds(call, ids, origin)) || where === 'nowhere', own: null };
  if (stored.isStored && where !== 'nowhere') return amendment({ ...amended, ...stored.own });
  if (where !== 'provider' && response.status !== 'failed') remember(call, response, parts);
  return stored.isStored ? amendment(amended) : { ...amended, store: false };
}

/** Whether an id counts that a large response brings: its own and those of its items only where its provider stores it. */
const isReceived =
  (isNamed: boolean) =>
  ({ kind }: ProviderId): boolean =>
    isNamed || (kind !== 'response' && kind !== 'item');

interface ToStore {
  readonly parts: Remembered;
  /** @param own the members that the response has instead */
  readonly data: (own: JsonObject | null) => JsonObject;
  readonly received: NonNullable<NewRecord['received']>;
  /** Its provider finds responses by their ids, so that none comes again. */
  readonly hasOwnIds: boolean;
}

interface StoredHere {
  /** False where the store has refused it. */
  readonly isStored: boolean;
  /** The members that the response has instead; null for none. */
  readonly own: JsonObject | null;
}

/**
 * A response without an id cannot be named. One whose id another answer has already gets an id of the gateway's, unless its
 * provider finds responses by their ids: what was stored stays what its caller has been given.
 */
async function storeHere(
  call: TextCall,
  response: JsonObject,
  { parts: { input, output }, data, received, hasOwnIds }: ToStore,
): Promise<StoredHere> {
  const id = textAt(response, 'id');
  if (id === null) return { isStored: true, own: null };
  const { history, context } = call;
  const made = {
    after: conversationIn(history),
    input: [...(await unstoredBefore(history)), ...(await input())],
    output: output(),
    received,
    ...(!hasOwnIds && { writer: randomUUID() }),
  };
  context.line.responseId = id;
  const result = await putResponse(call, { ...made, id, data: data(null) });
  if (hasOwnIds || result !== 'taken') return { isStored: result === 'stored', own: null };
  const own = { id: newId('resp_') };
  context.line.responseId = own.id;
  const again = await putResponse(call, { ...made, ...own, data: data(own) });
  if (again !== 'stored') return { isStored: false, own: null };
  context.line.responseKept = undefined;
  return { isStored: true, own };
}

/** The members that name what a response continues. A provider that got the whole conversation does not know these ids. */
export function continuation({ request, history }: Pick<TextCall, 'request' | 'history'>): Amendment {
  return request.rewritten === null ? null : (history.continued?.members ?? null);
}

const ADDED = new Set<unknown>(['completed', 'incomplete']);

/** Adds a response to its conversation. Returns the response's members that name it; a conversation that did not get the response is not named. */
async function belonging(
  call: TextCall,
  { protocol }: Candidate,
  { status }: JsonObject,
  items: () => Promise<readonly NewItem[]>,
): Promise<Amendment> {
  const conversation = conversationIn(call.history);
  const members = protocol === 'responses' ? continuation(call) : null;
  if (conversation === null) return members;
  const isAdded = await addToConversation(call, conversation.id, ADDED.has(status) ? await items() : null);
  return isAdded || !ADDED.has(status) ? members : { ...members, conversation: null };
}

const amendment = (members: JsonObject): Amendment => (Object.keys(members).length === 0 ? null : members);

/** Whether a candidate's provider stores its responses under the ids that callers get. */
export const storesResponses = ({ protocol, route }: Candidate): boolean =>
  protocol === 'responses' && route.quirks.storedResponses;

/** Resolves to whether the ids can be found again. Without Redis the caller still gets the answer. */
export async function rememberIds(
  { services, context }: TextCall,
  ids: readonly ProviderId[],
  origin: Parameters<TextCall['services']['origins']['remember']>[1],
): Promise<boolean> {
  if (ids.length === 0) return true;
  const response = ids.find(({ kind }) => kind === 'response');
  if (response !== undefined) context.line.responseId = response.id;
  try {
    await services.origins.remember(ids, origin);
    return true;
  } catch {
    context.line.responseKept = false;
    return false;
  }
}
