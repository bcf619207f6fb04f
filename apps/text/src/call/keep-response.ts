import type { Candidate } from '@gateway/upstream/catalog';
import type { Dropped } from '../conversation/losses.ts';
import type { NewItem } from '../stored/conversations/window-nodes.ts';
import type { ProviderId } from '../stored/id-origins.ts';
import { dataOf, inputItems, outputItems } from '../stored/kept-response.ts';
import { receivedIds } from '../stored/received-ids.ts';
import { type JsonObject, textAt } from '../wire/json-object.ts';
import { parseBody } from '../wire/raw-json.ts';
import { addToConversation } from './add-to-conversation.ts';
import { conversationOf } from './history.ts';
import type { TextCall } from './text-call.ts';

/** What a response says differently to its caller than its provider did; null where nothing. */
export type Amendment = JsonObject | null;

/** Reported where the configuration keeps nothing of a key's or a model's responses. */
const NEVER_KEPT: Dropped = {
  path: ['store'],
  reason: 'nothing is stored for this key or this model',
};

/** What a call loses because of that. */
export const lostStore = ({ history }: TextCall): readonly Dropped[] =>
  history.storing === 'refused' ? [NEVER_KEPT] : [];

/** Under `x-gateway-strict` storing is missed only by a request that asks for it. */
export const missed = ({ request }: TextCall, dropped: readonly Dropped[]): readonly Dropped[] =>
  request.asksToStore ? dropped : dropped.filter((one) => one !== NEVER_KEPT);

/** Says that a response is not kept although its caller wanted it. A stream says it in its last event. */
const [UNKEPT, NO] = ['x-gateway-stored', 'false'] as const;
export const UNKEPT_HEADER = { [UNKEPT]: NO };

/** The same for a reply that has not begun. */
export const sayUnkept = ({ response }: Pick<TextCall, 'response'>): unknown =>
  response.setHeader(UNKEPT, NO);

/**
 * Keeps a whole response before its caller learns that it has ended, with the items that led to it.
 *
 * @param response the response object, parsed with `parseBody`
 * @returns how it has to be amended, so that it is true
 */
export async function keepResponse(
  call: TextCall,
  candidate: Candidate,
  response: JsonObject,
): Promise<Amendment> {
  const { channel, model, requestedModel, protocol } = candidate;
  const { services, history, identity, request, context, endpoint } = call;
  const isProviders = storesResponses(candidate);
  const input = () => inputItems(parseBody(request.bytes.toString()), history.items);
  const output = () => outputItems(response, channel.name);
  // A server that stores nothing itself may say so, and need not.
  const isDenied = response.store === false && isProviders;
  const amended = amendment({
    ...(await belonging(call, candidate, response, () => [...input(), ...output()])),
    ...(response.store === false && !isProviders && history.storing === 'kept' && { store: true }),
  });
  const origin = { keyId: identity.keyId, channel: channel.name, model, requestedModel };
  const isWanted = history.storing === 'kept' && !isDenied;
  const ids =
    protocol === 'responses'
      ? receivedIds(endpoint.protocol, response, { responses: isWanted && isProviders, messages: false })
      : [];
  if (!isWanted || !history.isWhole || response.status === 'failed') {
    const isKnown = await rememberIds(call, ids, origin);
    const isSaid = history.storing !== 'unwanted' && !isDenied;
    const isUntrue = isSaid && !(isWanted && isProviders && isKnown);
    return isUntrue ? { ...amended, store: false } : amended;
  }
  const id = textAt(response, 'id');
  if (id === null) return amended;
  context.line.responseId = id;
  const rules = services.upstream.configuration.conversations;
  const result = await services.conversations
    .put({
      owner: history.owner,
      kind: 'response',
      id,
      ...(history.previous !== null && { previous: history.previous.id }),
      ...(history.conversation !== null && { after: history.conversation }),
      input: input(),
      output: output(),
      data: dataOf({ ...response, ...amended }, { ...origin, isProviders }),
      retentionMs: rules.retentionMs,
      maxBytes: rules.maxBytesPerKey,
      received: { ids, origin },
    })
    .catch(() => 'failed' as const);
  services.metrics.kept(result);
  if (result === 'stored') return amended;
  context.line.responseKept = false;
  return { ...amended, store: false };
}

/** What a response says of that which it continues: a provider that got all of it in the request does not know. */
export const continuation = ({ request, history }: Pick<TextCall, 'request' | 'history'>): Amendment =>
  request.rewritten === null || (history.previous === null && history.conversation === null)
    ? null
    : {
        ...(history.previous !== null && { previous_response_id: history.previous.id }),
        ...conversationOf(history),
      };

const ADDED = new Set<unknown>(['completed', 'incomplete']);

/** Adds a response to its conversation. Gives what it says of that; a conversation that does not have it is not its own. */
async function belonging(
  call: TextCall,
  { protocol }: Candidate,
  { status }: JsonObject,
  items: () => readonly NewItem[],
): Promise<Amendment> {
  const { conversation } = call.history;
  const told = protocol === 'responses' ? continuation(call) : null;
  if (conversation === null) return told;
  const isAdded = await addToConversation(call, conversation.id, ADDED.has(status) ? items() : null);
  return isAdded || !ADDED.has(status) ? told : { ...told, conversation: null };
}

const amendment = (members: JsonObject): Amendment => (Object.keys(members).length === 0 ? null : members);

/** Whether a candidate's provider stores its responses under the ids that callers get. */
export const storesResponses = ({ protocol, route }: Candidate): boolean =>
  protocol === 'responses' && route.quirks.storedResponses;

/** Without Redis the answer still goes out. Resolves to whether the ids can be found again. */
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
