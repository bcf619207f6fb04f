import { GatewayError } from '@gateway/contracts/gateway-error';
import { deliveryOf } from '@gateway/service-kit/delivery';
import { inThread } from '../../../large/in-thread.ts';
import { columnsInTurns, itemsIn } from '../../../large/item-columns.ts';
import { type MaybePromise, whenDone } from '../../../large/maybe-promise.ts';
import { bufferOf, isLarge, MAX_ITEMS_HERE, sharedBytes } from '../../../large/shared-bytes.ts';
import type { MemberJson } from '../../../large/turn-tasks.ts';
import { betasOf } from '../../../protocols/messages/request/betas.ts';
import type { Maker } from '../../../stored/origins/maker.ts';
import { parseItem } from '../../../stored/store/item-json.ts';
import { holdsBytes, JsonBytes } from '../../../stored/store/record-data.ts';
import type { NewItem } from '../../../stored/store/window-nodes.ts';
import { type JsonObject, objectOf } from '../../../wire/json-object.ts';
import { parseBody } from '../../../wire/raw-json.ts';
import type { Claimed, Continued, Purpose } from '../../request/history.ts';
import { describeBody } from '../../request/read-text-request.ts';
import { waitingFor } from '../../request/text-call.ts';
import type { TextRequest } from '../../request/text-request.ts';
import type { ThreadTurn } from '../../request/thread-turn.ts';
import { spaceOf } from '../conversation-space.ts';
import type { FindHistory, OpenCall } from '../find-history.ts';
import { differingMembers } from './fixed-members.ts';
import { StoredTurn } from './stored-turn.ts';
import { threadContinued, threadInFlight, threadMismatch, threadUnsupported } from './thread-errors.ts';
import { type StoredThread, type ThreadRecords, threadRecords } from './thread-records.ts';
import { type TurnHead, turnHead, turnMessages } from './turn-body.ts';
import { type ThreadContext, wholeRequest, withoutThread } from './whole-request.ts';

/**
 * A turn of a message thread. What the gateway has of the thread shows when it is claimed: then the request becomes the whole
 * conversation.
 */
export const continueThread = (call: OpenCall, findHistory: FindHistory): Continued => ({
  ...TURN,
  id: '',
  claim: (purpose) => claimThread(call, purpose, findHistory),
});

/** Its items are in the request. */
const TURN = {
  kind: 'thread',
  owner: null,
  isStored: true,
  conversation: null,
  bytes: 0,
  tokens: 0,
  holder: null,
  isWhole: true,
  servedBy: null,
  members: {},
  turn: null,
  window: () => Promise.resolve([]),
} as const;

/**
 * Null where the gateway does not have the thread: then a provider may.
 *
 * @throws {GatewayError} the protocol's own, for a turn that cannot continue from the message that it names
 */
async function claimThread(
  call: OpenCall,
  purpose: Purpose,
  findHistory: FindHistory,
): Promise<Claimed | null> {
  const { request, context } = call;
  context.line.thread = request.thread;
  const records = recordsFor(call);
  if (records === null) throw threadUnsupported();
  const read = readTurn(call, records);
  const turn = read instanceof Promise ? await read : read;
  const { previous } = turn;
  const claim = (thread: StoredThread | null) =>
    claimedTurn(call, { turn, purpose, records, thread, findHistory });
  if (previous === null) return claim(null);
  const held =
    purpose === 'generating' ? await records.claim(previous, deliveryOf(call.caller)?.id ?? null) : null;
  if (purpose === 'generating' && held === null) throw threadInFlight(previous);
  // If this fails, the claim ends by itself.
  const release = async () => held?.release().catch(() => undefined);
  try {
    const thread = await records.find(previous);
    if (thread?.isContinued && purpose === 'generating') throw threadContinued(previous);
    if (thread !== null) return { ...(await claim(thread)), release };
  } catch (error) {
    await release();
    throw error;
  }
  await release();
  return null;
}

/** Null where the gateway keeps no conversations for this caller or this model. */
const recordsFor = ({ services, identity, request }: OpenCall): ThreadRecords | null => {
  const space = spaceOf(identity, request.model, services.upstream.configuration.conversations);
  return space && threadRecords(services.conversations, space);
};

/** A turn that has been read. */
interface Turn extends TurnHead {
  readonly system: unknown;
  readonly tools: unknown;
  /** Null where it is large: then the thread alone has it. */
  readonly body: JsonObject | null;
}

function readTurn(
  { request, caller, ...call }: OpenCall,
  { owner }: Pick<ThreadRecords, 'owner'>,
): MaybePromise<Turn> {
  if (request.large === null) {
    const body = objectOf(request.content.take());
    return { ...turnHead(body, caller.headers), system: body.system, tools: body.tools, body };
  }
  const betas = betasOf(caller.headers).join(',');
  const task = { bytes: request.large.bytes, headers: { 'anthropic-beta': betas }, owner };
  return inThread('turn', task, waitingFor(call)).then(({ system, tools, ...head }) => ({
    ...head,
    system: memberOf(system),
    tools: memberOf(tools),
    body: null,
  }));
}

const memberOf = ({ json, digest }: MemberJson): unknown =>
  typeof json === 'string' ? (parseBody(json) ?? undefined) : new JsonBytes(bufferOf(json), digest);

const jsonOf = (member: unknown): MemberJson['json'] =>
  member instanceof JsonBytes ? member.bytes : JSON.stringify(member ?? null);

interface Opening {
  readonly purpose: Purpose;
  readonly turn: Turn;
  readonly records: ThreadRecords;
  /** Null for the first turn. */
  readonly thread: StoredThread | null;
  readonly findHistory: FindHistory;
}

/** What only counts is the whole conversation to every channel, and keeps nothing. */
const COUNTED: Omit<ThreadTurn, 'sent'> = {
  isStoredBy: () => false,
  ordered: (candidates) => candidates,
  store: () => Promise.resolve(),
};

async function claimedTurn(
  call: OpenCall,
  { turn, purpose, records, thread, findHistory }: Opening,
): Promise<Claimed> {
  const { request, services, context } = call;
  const { previous, fixed, system, tools, body } = turn;
  const differing = thread === null ? [] : differingMembers(fixed, thread.fixed);
  if (differing.length > 0) throw threadMismatch(differing);
  const whole = await whenDone(writeWhole(call, body, thread), (bytes) => describeWhole(call, bytes));
  const found = await findHistory({ ...call, request: whole });
  const claimed = (kept: ThreadTurn, servedBy: Maker | null): Claimed => ({
    request: whole,
    history: { ...found, continued: { ...TURN, id: previous ?? '', servedBy, turn: kept } },
  });
  if (purpose === 'counting') return claimed({ ...COUNTED, sent: whole }, null);
  const stored = thread ?? { fixed, keeper: null, servedBy: null, system, tools };
  const kept = new StoredTurn({
    records,
    previous,
    stored,
    messages: () => (body === null ? largeMessages(call, records.owner) : turnMessages(body)),
    sent: { ...request, inputLength: whole.inputLength },
    line: context.line,
    count: (result) => {
      if (result !== null) services.metrics.stored(result);
      services.metrics.threadTurn(
        previous === null ? 'create' : 'continue',
        result === 'stored' ? 'kept' : 'not_kept',
      );
    },
  });
  return claimed(kept, stored.servedBy);
}

/** A turn as the request that it would be without a thread. */
function writeWhole(
  call: OpenCall,
  body: JsonObject | null,
  thread: StoredThread | null,
): MaybePromise<Buffer> {
  const { bytes, length } = sizeOf(call, thread);
  const isRead = thread === null || !holdsBytes([thread.system, thread.tools]);
  if (body !== null && isRead && !isLarge(bytes) && length <= MAX_ITEMS_HERE) {
    const whole = thread === null ? withoutThread(body) : wholeRequest(body, parsedThread(thread));
    return Buffer.from(JSON.stringify(whole));
  }
  return writeLarge(call, thread);
}

async function writeLarge(call: OpenCall, thread: StoredThread | null): Promise<Buffer> {
  const before = thread && {
    messages: await columnsInTurns(thread.messages),
    system: jsonOf(thread.system),
    tools: jsonOf(thread.tools),
  };
  const task = { bytes: sharedBytes(call.request.bytes), thread: before };
  return bufferOf(await inThread('thread', task, waitingFor(call)));
}

const sizeOf = ({ request }: OpenCall, thread: StoredThread | null) => ({
  bytes: request.bytes.length + (thread?.sizeBytes ?? 0),
  length: thread?.messages.length ?? 0,
});

const parsedThread = ({ messages, system, tools }: StoredThread): ThreadContext => ({
  messages: messages.map(({ json }) => parseItem(json)),
  system,
  tools,
});

function largeMessages(call: OpenCall, owner: string): Promise<readonly NewItem[]> {
  // They are stored although the caller may have left.
  const waiting = { owner: waitingFor(call).owner };
  return inThread('messages', { bytes: sharedBytes(call.request.bytes), owner }, waiting).then(itemsIn);
}

/** @throws {GatewayError} as for a request that is sent whole */
function describeWhole(call: OpenCall, bytes: Buffer): MaybePromise<TextRequest> {
  const { endpoint, services } = call;
  if (bytes.length > services.maxBodyBytes)
    throw new GatewayError(
      'request_too_large',
      `The whole conversation of this thread has ${bytes.length} bytes; ${services.maxBodyBytes} are accepted here. Send a shorter one with \`thread: {"type": "create"}\`.`,
    );
  return describeBody(endpoint, bytes, services.maxJsonDepth, waitingFor(call));
}
