import { GatewayError } from '@gateway/contracts/gateway-error';
import { deliveryOf } from '@gateway/service-kit/delivery';
import { spaceOf } from '../call/history/conversation-space.ts';
import { findHistory } from '../call/history/find-history.ts';
import {
  threadContinued,
  threadInFlight,
  threadMismatch,
  threadUnsupported,
} from '../call/history/thread-errors.ts';
import { type HeldCall, NOTHING_HELD, type OpenedCall } from '../call/request/text-call.ts';
import { describeRequest, type TextRequest } from '../call/request/text-request.ts';
import type { ThreadTurn } from '../call/request/thread-turn.ts';
import { type JsonObject, objectAt, objectOf, textAt } from '../wire/json-object.ts';
import { differingMembers, fixedMembersOf } from './fixed-members.ts';
import { StoredTurn } from './stored-turn.ts';
import { type StoredThread, type ThreadRecords, threadRecords } from './thread-records.ts';
import { wholeRequest, withoutThread } from './whole-request.ts';

/** `generating`: the thread goes on with the reply. `counting`: the turn only looks at it. */
type Purpose = 'generating' | 'counting';

/**
 * Makes a turn of a message thread the whole conversation that it continues. Nothing is held where the gateway does not have
 * the thread: then a provider may.
 *
 * @throws {GatewayError} the protocol's own, for a turn that cannot continue from the message that it names
 */
export async function openThread(call: OpenedCall, purpose: Purpose): Promise<HeldCall> {
  const { request, context } = call;
  context.line.thread = request.thread;
  const records = recordsFor(call);
  if (records === null) throw threadUnsupported();
  const body = objectOf(request.content.take());
  const previous = textAt(objectAt(body, 'thread') ?? {}, 'previous_message_id');
  if (previous === null) return opened(call, { body, purpose, previous, records, thread: null, claim: null });
  const claim =
    purpose === 'generating' ? await records.claim(previous, deliveryOf(call.caller)?.id ?? null) : null;
  if (purpose === 'generating' && claim === null) throw threadInFlight(previous);
  try {
    const thread = await records.find(previous);
    if (thread !== null) {
      if (thread.isContinued && purpose === 'generating') throw threadContinued(previous);
      return await opened(call, { body, purpose, previous, records, thread, claim });
    }
  } catch (error) {
    await claim?.release().catch(() => undefined);
    throw error;
  }
  await claim?.release().catch(() => undefined);
  return { ...call, ...NOTHING_HELD };
}

/** Null where the gateway keeps no conversations for this caller or this model. */
const recordsFor = ({ services, identity, model }: OpenedCall): ThreadRecords | null => {
  const space = spaceOf(identity, model.name, services.upstream.configuration.conversations);
  return space && threadRecords(services.conversations, space);
};

interface Opening {
  readonly purpose: Purpose;
  readonly body: JsonObject;
  readonly previous: string | null;
  readonly records: ThreadRecords;
  /** Null for the first turn. */
  readonly thread: StoredThread | null;
  readonly claim: Awaited<ReturnType<ThreadRecords['claim']>>;
}

/** What only counts is the whole conversation to every channel, and keeps nothing. */
const COUNTED: Omit<ThreadTurn, 'sent'> = {
  servedBy: null,
  isStoredBy: () => false,
  ordered: (candidates) => candidates,
  store: () => Promise.resolve(),
  end: () => Promise.resolve(),
};

async function opened(
  call: OpenedCall,
  { body, purpose, previous, records, thread, claim }: Opening,
): Promise<HeldCall> {
  const { request, caller, services, context } = call;
  const fixed = fixedMembersOf(body, caller.headers);
  const differing = thread === null ? [] : differingMembers(fixed, thread.fixed);
  if (differing.length > 0) throw threadMismatch(differing);
  const whole = wholeOf(call, thread === null ? withoutThread(body) : wholeRequest(body, thread));
  const made = {
    ...call,
    conversationLock: null,
    request: whole,
    history: await findHistory({ ...call, request: whole }),
  };
  if (purpose === 'counting') return { ...made, thread: { ...COUNTED, sent: whole } };
  const stored = thread ?? { fixed, keeper: null, servedBy: null, system: body.system, tools: body.tools };
  const turn = new StoredTurn({
    records,
    claim,
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
  return { ...made, thread: turn };
}

/** @throws {GatewayError} as for a request that is sent whole */
function wholeOf({ endpoint, services }: OpenedCall, body: JsonObject): TextRequest {
  const bytes = Buffer.from(JSON.stringify(body));
  if (bytes.length > services.maxBodyBytes)
    throw new GatewayError(
      'request_too_large',
      `The whole conversation of this thread has ${bytes.length} bytes; ${services.maxBodyBytes} are accepted here. Send a shorter one with \`thread: {"type": "create"}\`.`,
    );
  return describeRequest(endpoint, bytes, JSON.parse(bytes.toString()));
}
