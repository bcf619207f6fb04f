import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Checked, RequestHooks } from '@gateway/hooks/request-hooks';
import { toGatewayError } from '@gateway/service-kit/error-response';
import { endedRequest } from '@gateway/service-kit/request/request-context';
import type { Reply } from '@gateway/upstream/replies/reply';
import { objectOf } from '../../wire/json-object.ts';
import { parseBody } from '../../wire/raw-json.ts';
import { turnIn } from '../request/history.ts';
import { describeBody } from '../request/read-text-request.ts';
import { type CallHooks, type OpenedCall, waitingFor } from '../request/text-call.ts';
import { type BodyTexts, bodyTexts } from './body-texts.ts';
import { HookedReply } from './hooked-reply.ts';

/**
 * A call whose input has been checked, with the texts that hooks have put into it, and which has its answer checked.
 *
 * @throws {GatewayError} `guardrail_blocked`, `guardrail_unavailable`
 */
export async function checkedCall<Call extends OpenedCall>(call: Call, hooks: RequestHooks): Promise<Call> {
  try {
    const checksInput = hooks.checksBefore || hooks.checksBeside;
    if (checksInput && isInTokens(call)) throw refused(call, inTokens());
    const body = checksInput ? await textsOf(call) : NO_TEXTS;
    const texts = body.found.map(({ text }) => text);
    const roles = body.found.map(({ role }) => role);
    const surroundings = hooks.wantsSurroundings ? await body.surroundings() : null;
    const checked = hooks.checksBefore ? await hooks.before(texts, roles, surroundings) : UNCHANGED;
    if (checked.isBlocked) throw refused(call, checked.error);
    const ready = checked.texts === null ? call : await withBody(call, await body.written(checked.texts));
    // Its provider has the request meanwhile.
    const beside =
      hooks.checksBeside && (texts.length > 0 || surroundings !== null)
        ? hooks.beside(checked.texts ?? texts, roles, surroundings)
        : null;
    return { ...ready, hooks: callHooks(ready, hooks, beside) };
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
  hooks: callHooks(call, hooks, null),
});

/** Counts a request that a hook refuses. */
function refused({ services, identity, endpoint }: OpenedCall, error: GatewayError): GatewayError {
  if (error.code === 'guardrail_blocked') services.refusals.add('guardrail', identity, endpoint);
  return error;
}

/** Whether a bare prompt is written as tokens of its model, which no hook can read. */
function isInTokens({ endpoint, request }: OpenedCall): boolean {
  if (endpoint.operation !== 'completions') return false;
  const { prompt } = objectOf(parseBody(request.bytes.toString()));
  return Array.isArray(prompt) && prompt.some((one) => typeof one !== 'string');
}

const inTokens = (): GatewayError =>
  new GatewayError('guardrail_blocked', {
    path: ['prompt'],
    message: 'A prompt in tokens cannot be checked, and this request has to be. Send it as text.',
  });

const NO_TEXTS: BodyTexts = {
  found: [],
  surroundings: () => Promise.resolve({ images: [], namedImages: 0, tools: [], toolCalls: [] }),
  written: () => Promise.reject(new Error('a body without texts')),
};
const UNCHANGED: Checked = { isBlocked: false, texts: null };

const textsOf = (call: OpenedCall): Promise<BodyTexts> => {
  const { bytes, large } = call.request;
  return bodyTexts(bytes, 'request', { ...waitingFor(call), isInThread: large !== null });
};

/** A call with another body. Of a message thread the whole conversation is sent: what its provider keeps of it has the old texts. */
async function withBody<Call extends OpenedCall>(call: Call, bytes: Buffer): Promise<Call> {
  const { endpoint, services, request, history } = call;
  const described = await describeBody(endpoint, bytes, services.maxJsonDepth, waitingFor(call));
  const turn = turnIn(history);
  call.content?.replaced(bytes);
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

function callHooks(call: OpenedCall, hooks: RequestHooks, beside: Promise<Checked> | null): CallHooks {
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
