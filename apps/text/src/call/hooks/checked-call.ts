import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Checked, RequestHooks } from '@gateway/hooks/request-hooks';
import { toGatewayError } from '@gateway/service-kit/error-response';
import { endedRequest } from '@gateway/service-kit/request/request-context';
import type { Reply } from '@gateway/upstream/replies/reply';
import { turnIn } from '../request/history.ts';
import { describeBody } from '../request/read-text-request.ts';
import { type CallHooks, type OpenedCall, waitingFor } from '../request/text-call.ts';
import type { TextRequest } from '../request/text-request.ts';
import { HookedReply } from './hooked-reply.ts';
import { requestSlots, type TextSlot } from './text-slots.ts';

/**
 * A call whose input has been checked, with the texts that hooks have put into it, and which has its answer checked.
 *
 * @throws {GatewayError} `guardrail_blocked`, `guardrail_unavailable`
 */
export async function checkedCall<Call extends OpenedCall>(call: Call, hooks: RequestHooks): Promise<Call> {
  try {
    const slots = hooks.checksBefore || hooks.checksBeside ? slotsOf(call.request) : NO_SLOTS;
    const checked = hooks.checksBefore ? await hooks.before(...textsOf(slots)) : UNCHANGED;
    if (checked.isBlocked) throw refused(call, checked.error);
    const ready = checked.texts === null ? call : await withTexts(call, slots, checked.texts);
    return { ...ready, hooks: callHooks(ready, hooks, slots) };
  } catch (error) {
    throw endedRequest(call.context) ?? toGatewayError(error);
  }
}

/** A call whose input has been checked, for another process that has it answered. @throws {GatewayError} as `checkedCall` */
export async function checkedInput<Call extends OpenedCall>(call: Call, hooks: RequestHooks): Promise<Call> {
  const { hooks: checks, ...ready } = await checkedCall(call, hooks);
  await checks?.beside();
  return { ...call, request: ready.request, history: ready.history };
}

/** The same for a call whose input was checked when it was accepted. */
export const answerChecked = <Call extends OpenedCall>(call: Call, hooks: RequestHooks): Call => ({
  ...call,
  hooks: callHooks(call, hooks, NO_SLOTS),
});

/** Counts a request that a hook refuses. */
function refused({ services, identity, endpoint }: OpenedCall, error: GatewayError): GatewayError {
  if (error.code === 'guardrail_blocked') services.refusals.add('guardrail', identity, endpoint);
  return error;
}

interface Slots {
  readonly body: object;
  readonly list: readonly TextSlot[];
}
const NO_SLOTS: Slots = { body: {}, list: [] };
const UNCHANGED: Checked = { isBlocked: false, texts: null };

function slotsOf({ content }: TextRequest): Slots {
  const body = content.take();
  return typeof body === 'object' && body !== null ? { body, list: requestSlots(body) } : NO_SLOTS;
}

const textsOf = ({ list }: Slots) => [list.map(({ text }) => text), list.map(({ role }) => role)] as const;

/** A call with other texts. Of a message thread the whole conversation is sent: what its provider keeps of it has the old ones. */
async function withTexts<Call extends OpenedCall>(
  call: Call,
  { body, list }: Slots,
  texts: readonly string[],
): Promise<Call> {
  const { endpoint, services, request, history } = call;
  for (const [index, slot] of list.entries()) slot.put(texts[index] ?? '');
  const bytes = Buffer.from(JSON.stringify(body));
  const described = await describeBody(endpoint, bytes, services.maxJsonDepth, waitingFor(call));
  const turn = turnIn(history);
  const changed = {
    ...described,
    rewritten: request.rewritten,
    compaction: request.compaction,
    ownValue: request.ownValue,
  };
  if (turn === null || history.continued === null) return { ...call, request: changed };
  const continued = { ...history.continued, turn: { ...turn, isStoredBy: () => false } };
  return { ...call, request: changed, history: { ...history, continued } };
}

function callHooks(call: OpenedCall, hooks: RequestHooks, slots: Slots): CallHooks {
  // Its provider has the request meanwhile.
  const beside = hooks.checksBeside && slots.list.length > 0 ? hooks.beside(...textsOf(slots)) : null;
  beside?.catch(() => undefined);
  const inputPassed = async () => {
    try {
      const checked = await beside;
      if (checked?.isBlocked) throw refused(call, checked.error);
    } catch (error) {
      throw error instanceof GatewayError ? error : (endedRequest(call.context) ?? toGatewayError(error));
    }
  };
  return {
    beside: inputPassed,
    get note() {
      const { note } = hooks;
      return note === undefined ? {} : { hooks: note };
    },
    reply: async (reply: Reply) => {
      try {
        await inputPassed();
      } catch (error) {
        reply.cancel();
        throw error;
      }
      return hooks.outputHold === null && !hooks.reports
        ? reply
        : new HookedReply(reply, hooks, call.context);
    },
  };
}
