import type { EventFrame } from '@gateway/contracts/event-stream/event-frame';
import type { Frame } from '@gateway/contracts/event-stream/frame-reader';
import { dataFrame, namedFrame } from '@gateway/contracts/event-stream/sse-frames';
import { quoted, responseEndAfter, STREAM_EVENTS } from '@gateway/contracts/event-stream/stream-events';
import { createBatcher } from '@gateway/redis/batcher';
import type { Reply } from '@gateway/upstream/replies/reply';
import { isPending } from '../background/ending.ts';
import { logProvidersCompaction } from '../call/accounting/call-log.ts';
import { estimatesFor, storePending } from '../call/accounting/metered-call.ts';
import { type Consumed, consumedOf, NOTHING_KNOWN } from '../call/accounting/outcome.ts';
import { ITEMS_PER_LOOK } from '../call/attempts/large-reply.ts';
import { turnIn } from '../call/request/history.ts';
import { type TextCall, waitingFor } from '../call/request/text-call.ts';
import type { TextEndpoint } from '../call/request/text-endpoint.ts';
import {
  type Amendment,
  continuation,
  rememberIds,
  storeResponse,
  storesResponses,
} from '../call/storing/store-response.ts';
import { inThread } from '../large/in-thread.ts';
import { sharedBytes, sharedText } from '../large/shared-bytes.ts';
import { knownUsage } from '../metering/consumption.ts';
import { withOwnChoices } from '../protocols/chat/reply/spoken-choices.ts';
import { recordedMessage } from '../protocols/messages/reply/message-recorder.ts';
import { PROTOCOLS } from '../protocols/protocols.ts';
import { isOddItem, ownItem } from '../protocols/responses/reply/own-item.ts';
import type { ProviderId } from '../stored/origins/id-origins.ts';
import { originAt } from '../stored/origins/maker.ts';
import { bringsIds, type Kept, receivedIds, replyWithin } from '../stored/origins/received-ids.ts';
import { answerLength } from '../wire/answer-length.ts';
import { type JsonObject, objectAt, textAt } from '../wire/json-object.ts';
import { isJsonObject, parseBody } from '../wire/raw-json.ts';
import type { StreamReader } from '../wire/stream/stream-reader.ts';
import { GivenIds, type StoredIds } from './given-ids.ts';
import { missingInWhole, shownMembers, withIds } from './own-members.ts';
import { failureReported } from './passed-stream.ts';
import { RepeatedCallIds } from './repeated-call-ids.ts';
import { SentIds } from './sent-ids.ts';

/** What a whole reply consumed. `parsed` has every member of it. */
export function consumedByWhole(call: TextCall, whole: JsonObject, parsed: () => JsonObject): Consumed {
  const { endpoint } = call;
  // What a large message shows of its provider's tools is in its content, which is not read of every reply.
  const usesTools = call.request.builtInTools.length > 0;
  const usage = PROTOCOLS[endpoint.protocol].readUsage(usesTools ? parsed() : whole);
  if (!isGenerated(endpoint) || (usage === null && isUnderWay(endpoint, whole))) return NOTHING_KNOWN;
  return consumedOf(
    knownUsage(
      usage,
      true,
      estimatesFor(call, () => answerLength(parsed())),
    ),
  );
}

/** Endpoints that only count generate nothing. */
export const isGenerated = ({ operation }: TextEndpoint): boolean => !COUNTING.has(operation);
const COUNTING: ReadonlySet<TextEndpoint['operation']> = new Set([
  'messages.count_tokens',
  'responses.input_tokens',
  'gemini.count_tokens',
]);

const isUnderWay = ({ protocol }: TextEndpoint, whole: JsonObject): boolean =>
  protocol === 'responses' && isPending(whole);

interface WholeReply {
  /** The members that are read of every reply. */
  readonly whole: JsonObject;
  /** The reply with every member, parsed with `parseBody`. */
  readonly parsed: () => JsonObject;
  readonly given: GivenIds | null;
}

/**
 * Stores a whole reply, before its caller learns it, as far as a later request may name it. Where the response goes on
 * without its caller, `onPending` gets what is known of its usage.
 *
 * @returns the members that its caller gets instead
 */
export function storeWholeReply(
  call: TextCall,
  reply: Reply,
  { whole, parsed, given }: WholeReply,
  onPending: (consumed: Consumed) => void,
): Promise<Amendment> | undefined {
  const { endpoint, context } = call;
  if (whole.status === 'failed') context.failure ??= failureReported('failed');
  // A large message is read without its content, which only then brings ids.
  const read = () => (call.request.compaction === null ? whole : parsed());
  const ids = () => receivedIds(endpoint.protocol, read(), keptOf(call, reply));
  const storing = isStorable(endpoint)
    ? storeWholeResponse(call, reply, { whole, parsed, given })
    : storeMessage(call, reply, { whole, parsed }, remember(call, reply, ids()));
  const id = textAt(whole, 'id');
  return isUnderWay(endpoint, whole) && id !== null
    ? storePendingReply(call, reply, whole, onPending).then(() => storing ?? null)
    : storing;
}

/** Has the usage of a response that goes on booked at its end. */
export async function storePendingReply(
  call: TextCall,
  reply: Reply,
  whole: JsonObject,
  onPending: (consumed: Consumed) => void,
): Promise<void> {
  const id = textAt(whole, 'id');
  if (id !== null) onPending(await storePending(call, reply, id));
}

async function storeWholeResponse(
  call: TextCall,
  { candidate }: Reply,
  { whole, parsed, given }: WholeReply,
): Promise<Amendment> {
  const missing = missingInWhole(whole, parsed);
  const mayDiffer = given === null ? null : await given.output({ ...whole, ...missing });
  // What is read of every reply may have lost digits.
  const own = mayDiffer && given && (await given.output({ ...parsed(), ...missing }));
  if (missing === null && own === null) return storeResponse(call, candidate, whole, { whole: parsed });
  const replaced = { ...missing, ...own };
  return storeResponse(call, candidate, { ...parsed(), ...replaced }).then((amendment) => ({
    ...replaced,
    ...amendment,
  }));
}

/** Of a thread's turn the whole message is stored, beside the ids of the reply. */
function storeMessage(
  call: TextCall,
  reply: Reply,
  { whole, parsed }: Pick<WholeReply, 'whole' | 'parsed'>,
  remembering: Promise<boolean> | undefined,
): Promise<Amendment> | undefined {
  const { candidate } = reply;
  const shown = isGenerated(call.endpoint)
    ? shownMembers(call.endpoint.protocol, repeatedIds(call, reply), whole, parsed)
    : null;
  const message = () => recordedMessage({ ...parsed(), ...shown });
  const storing = turnIn(call.history)?.store(message(), { request: call.request, candidate });
  if (shown === null && remembering === undefined && storing === undefined) return undefined;
  return Promise.all([remembering, storing]).then(() => shown);
}

export const repeatedIds = (call: TextCall, { candidate }: Reply): RepeatedCallIds =>
  new RepeatedCallIds(call.endpoint.protocol, sentIds(call, call.request.bytes), candidate.route.quirks);

const sentIds = (call: TextCall, sent: Buffer | string): SentIds =>
  new SentIds(sent, (body) => {
    const { owner, load } = waitingFor(call);
    const bytes = typeof body === 'string' ? sharedText(body) : sharedBytes(body);
    return inThread('ids', { bytes }, { owner, load });
  });

/** Where a later request finds the ids of a response; undefined where its provider knows it by them. */
export function idHolder(
  { endpoint, request, memory }: TextCall,
  { candidate }: Reply,
): 'store' | 'connection' | null | undefined {
  if (!isStorable(endpoint) || storesResponses(candidate)) return undefined;
  if (request.stored) return 'store';
  return memory === undefined ? null : 'connection';
}

/** Null where the provider knows a response by its ids. `body` is what its provider was sent. */
export function givenIds(call: TextCall, reply: Reply, body: Buffer | string): GivenIds | null {
  const heldBy = idHolder(call, reply);
  if (heldBy === undefined) return null;
  const sent = sentIds(call, body);
  if (heldBy !== 'store') return new GivenIds({ sent, heldBy });
  const { owner } = call.history;
  const { conversations } = call.services;
  // New answers do not wait for the database.
  const looks = createBatcher<string>({
    maxItems: ITEMS_PER_LOOK,
    send: (ids) => conversations.hasItems(owner, ids),
  });
  const stored: StoredIds = {
    hasResponse: async (id) =>
      (await conversations.read({ owner, kind: 'response', id }, { retentionMs: null })) !== null,
    hasItem: async (id) => (await looks.run(id)) === true,
  };
  return new GivenIds({ sent, heldBy: stored });
}

/** The same for a stream while only its id is known. */
export function storeStreamId(
  call: TextCall,
  reply: Reply,
  id: string,
  onPending: (consumed: Consumed) => void,
): Promise<unknown> | undefined {
  const remembering = remember(call, reply, receivedIds(call.endpoint.protocol, { id }, keptOf(call, reply)));
  return call.request.background
    ? Promise.all([remembering, storePending(call, reply, id).then(onPending)])
    : remembering;
}

/** What is known of a stream that passes. */
interface StoredStream {
  readonly reader: Pick<StreamReader, 'missingMembers' | 'shown' | 'asDeltas'>;
  readonly ids: RepeatedCallIds;
  readonly given: GivenIds | null;
}

/** Events that show the response before its end. */
const EARLY_EVENTS = quoted(STREAM_EVENTS.responses.start);

/** The same for an event. Returns what the caller gets instead; null: the event itself. */
export function storeEvent(
  call: TextCall,
  reply: Reply,
  frame: Frame,
  { reader, ids, given }: StoredStream,
): EventFrame | Promise<EventFrame> | null {
  const { endpoint } = call;
  const { protocol } = endpoint;
  if (!isStorable(endpoint)) {
    const within = replyWithin(protocol, frame);
    if (within !== null) void remember(call, reply, receivedIds(protocol, within, keptOf(call, reply)));
    const chunk = protocol === 'chat' ? ownChunk(frame, reader) : null;
    const own = chunk === null ? null : dataFrame(chunk);
    const shown = ids.frame(chunk === null ? frame : asData(chunk));
    return shown instanceof Promise ? shown.then((text) => text ?? own ?? frame) : (shown ?? own);
  }
  const isLast = bringsIds(protocol, frame);
  const continued = continuation(call);
  if (!isLast && (continued === null || !EARLY_EVENTS.some((type) => frame.includes(type))))
    return given?.frame(frame) ?? itemFrame(frame);
  const event = eventIn(frame);
  const type = (event && textAt(event, 'type')) ?? '';
  const shown = event && objectAt(event, 'response');
  const isAbsent = shown === null && responseEndAfter(type) !== undefined;
  const response = isAbsent ? (reader.shown?.() ?? null) : shown;
  if (event === null || response === null) return null;
  const amended = (amendment: Amendment) =>
    namedFrame({ ...event, type, response: { ...response, ...amendment } });
  const early = (own: Amendment) => amended({ ...continued, ...own });
  if (!isLast) return given === null ? early(null) : given.response(response).then(early);
  const missing = withIds(reader.missingMembers?.(response, type) ?? null);
  const stored = (own: Amendment) =>
    storeResponse(call, reply.candidate, { ...response, ...missing, ...own }).then((amendment) =>
      amendment === null && missing === null && own === null && !isAbsent
        ? frame
        : amended({ ...missing, ...own, ...amendment }),
    );
  return given === null ? stored(null) : given.response({ ...response, ...missing }).then(stored);
}

function asData(event: JsonObject): Pick<Frame, 'latin1' | 'data'> {
  const data = JSON.stringify(event);
  return { data, latin1: data };
}

/** What a chunk may have in another form than its delta's. */
const ODD_DELTA = /"arguments" ?: ?\{|"content" ?: ?[[{]/;

/** A chunk as clients read it, where its server writes it in another form; null for any other. */
function ownChunk(frame: Frame, { asDeltas }: Pick<StreamReader, 'asDeltas'>): JsonObject | null {
  const isBare = !frame.includes('"delta"') && (frame.includes('"text"') || frame.includes('"message"'));
  if (!isBare && !ODD_DELTA.test(frame.latin1)) return null;
  const chunk = eventIn(frame);
  const spoken = chunk && withOwnChoices(asDeltas?.(chunk) ?? chunk, 'delta');
  return spoken === chunk ? null : spoken;
}

const ITEM_DONE = '"response.output_item.done"';
const ODD_ITEM = /"arguments" ?: ?\{|"content" ?: ?["{]/;

/** A finished item as its protocol has it, where its server writes it in another form; null for any other event. */
function itemFrame(frame: Frame): string | null {
  if (!frame.includes(ITEM_DONE) || !ODD_ITEM.test(frame.latin1)) return null;
  const event = eventIn(frame);
  return event !== null && isOddItem(event.item)
    ? namedFrame({ ...event, type: 'response.output_item.done', item: ownItem(event.item) })
    : null;
}

function eventIn({ data }: Frame): JsonObject | null {
  const event = data === null ? null : parseBody(data);
  return isJsonObject(event) ? event : null;
}

const isStorable = ({ operation }: TextEndpoint): boolean => operation === 'responses';

/** A background response whose stream has stopped before its end goes on; its usage becomes known later. */
export function consumedByStream(
  call: TextCall,
  reader: StreamReader,
  pendingId: string | null,
  unreadLength: number,
): Consumed {
  const { usage, ended, reportedFailure } = reader;
  if (pendingId !== null && !ended) return { ...NOTHING_KNOWN, pendingId };
  // Usage that a stream reports before its error event is not its final count.
  const isFinal = ended && reportedFailure === null;
  return consumedOf(
    knownUsage(
      usage,
      isFinal,
      estimatesFor(call, () => Math.max(reader.outputLength, unreadLength)),
    ),
  );
}

export const keptOf = ({ request, history }: TextCall, { candidate }: Reply): Kept => ({
  responses: history.storing === 'wanted' && storesResponses(candidate),
  messages: request.storesMessage,
});

export function remember(
  call: TextCall,
  reply: Reply,
  ids: readonly ProviderId[],
): Promise<boolean> | undefined {
  if (ids.length === 0) return undefined;
  logProvidersCompaction(call, ids);
  return rememberIds(call, ids, originAt(reply.candidate, call.identity.keyId));
}
