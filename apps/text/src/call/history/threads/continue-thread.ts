import { GatewayError } from '@gateway/contracts/gateway-error';
import { deliveryOf } from '@gateway/service-kit/delivery';
import type { MaybePromise } from '../../../large/maybe-promise.ts';
import type { Maker } from '../../../stored/origins/maker.ts';
import { type JsonObject, objectAt, objectOf, textAt } from '../../../wire/json-object.ts';
import type { Claimed, Continued, Purpose } from '../../request/history.ts';
import { describeBody } from '../../request/read-text-request.ts';
import { waitingFor } from '../../request/text-call.ts';
import type { TextRequest } from '../../request/text-request.ts';
import type { ThreadTurn } from '../../request/thread-turn.ts';
import { spaceOf } from '../conversation-space.ts';
import type { FindHistory, OpenCall } from '../find-history.ts';
import { differingMembers, fixedMembersOf } from './fixed-members.ts';
import { StoredTurn } from './stored-turn.ts';
import { threadContinued, threadInFlight, threadMismatch, threadUnsupported } from './thread-errors.ts';
import { type StoredThread, type ThreadRecords, threadRecords } from './thread-records.ts';
import { wholeRequest, withoutThread } from './whole-request.ts';

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
  const body = objectOf(request.content.take());
  const previous = textAt(objectAt(body, 'thread') ?? {}, 'previous_message_id');
  const claim = (thread: StoredThread | null) =>
    claimedTurn(call, { body, purpose, previous, records, thread, findHistory });
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

interface Opening {
  readonly purpose: Purpose;
  readonly body: JsonObject;
  readonly previous: string | null;
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
  { body, purpose, previous, records, thread, findHistory }: Opening,
): Promise<Claimed> {
  const { request, caller, services, context } = call;
  const fixed = fixedMembersOf(body, caller.headers);
  const differing = thread === null ? [] : differingMembers(fixed, thread.fixed);
  if (differing.length > 0) throw threadMismatch(differing);
  const whole = await wholeOf(call, thread === null ? withoutThread(body) : wholeRequest(body, thread));
  const found = await findHistory({ ...call, request: whole });
  const claimed = (turn: ThreadTurn, servedBy: Maker | null): Claimed => ({
    request: whole,
    history: { ...found, continued: { ...TURN, id: previous ?? '', servedBy, turn } },
  });
  if (purpose === 'counting') return claimed({ ...COUNTED, sent: whole }, null);
  const stored = thread ?? { fixed, keeper: null, servedBy: null, system: body.system, tools: body.tools };
  const turn = new StoredTurn({
    records,
    previous,
    stored,
    messages: Array.isArray(body.messages) ? body.messages : [],
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
  return claimed(turn, stored.servedBy);
}

/** @throws {GatewayError} as for a request that is sent whole */
function wholeOf(call: OpenCall, body: JsonObject): MaybePromise<TextRequest> {
  const { endpoint, services } = call;
  const bytes = Buffer.from(JSON.stringify(body));
  if (bytes.length > services.maxBodyBytes)
    throw new GatewayError(
      'request_too_large',
      `The whole conversation of this thread has ${bytes.length} bytes; ${services.maxBodyBytes} are accepted here. Send a shorter one with \`thread: {"type": "create"}\`.`,
    );
  return describeBody(endpoint, bytes, services.maxJsonDepth, waitingFor(call));
}
