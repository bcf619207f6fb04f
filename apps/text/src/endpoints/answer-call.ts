import { toGatewayError } from '@gateway/service-kit/error-response';
import type { Candidate } from '@gateway/upstream/candidate';
import { type Answered, attemptCandidates } from '../call/attempts/attempt-candidates.ts';
import type { PrepareAttempt } from '../call/attempts/prepared-attempt.ts';
import { isPassed } from '../call/candidates/is-passed.ts';
import { hooksOf, refusedCall } from '../call/hooks/call-hooks.ts';
import { namesStored } from '../call/request/history.ts';
import type { OpenedCall, TextCall } from '../call/request/text-call.ts';
import { compactFirst } from '../compaction/compact-first.ts';
import { prepareContinued } from '../compaction/prepare-continued.ts';
import { prepareCompletion } from '../passthrough/pass-completion.ts';
import { preparePassthrough } from '../passthrough/passthrough.ts';
import { prepareTranslation } from '../translation/translation.ts';

interface Answering {
  /** Best first. */
  readonly candidates: readonly Candidate[];
  /** See `SendOptions`. */
  readonly holdsStart: boolean;
  readonly mayHedge?: boolean;
  /** Hooks have checked its input when it was accepted. */
  readonly isInputChecked?: boolean;
}

/** Has a call answered by one of its candidates, with its texts checked where hooks do that. Never rejects. */
export async function answerCall(call: TextCall, answering: Answering): Promise<Answered> {
  const hooks = hooksOf(call);
  if (hooks === null) return answerReady(call, answering);
  let ready: TextCall;
  try {
    const { answerChecked, checkedCall } = await import('../call/hooks/checked-call.ts');
    const check = answering.isInputChecked ? answerChecked : checkedCall;
    ready = await check(call, await hooks);
  } catch (error) {
    return refusedCall(call, toGatewayError(error));
  }
  return answerReady(ready, answering);
}

/** A call whose input hooks have checked, for another process that has it answered. @throws {GatewayError} where they block it */
export async function inputChecked<Call extends OpenedCall>(call: Call): Promise<Call> {
  const hooks = hooksOf(call);
  if (hooks === null) return call;
  const { checkedInput } = await import('../call/hooks/checked-call.ts');
  return checkedInput(call, await hooks);
}

/** The same for a call that may be answered, its conversation compacted first where it wants that. */
async function answerReady(call: TextCall, answering: Answering): Promise<Answered> {
  const order = call.request.compaction?.order ?? null;
  const attempt = async (ready: TextCall): Promise<Answered> => ({
    call: ready,
    outcome: await attemptCandidates(ready, { ...answering, prepare: prepareFor(ready) }),
  });
  return order === null ? attempt(call) : compactFirst(call, { order, ...answering, attempt });
}

/** How a call is prepared for its candidates: for one of its own protocol its bytes pass, for others it is translated. */
export function prepareFor(call: TextCall): PrepareAttempt {
  if (call.endpoint.operation === 'completions') return (candidate) => prepareCompletion(call, candidate);
  // What is left of a compacted conversation is all in the call.
  if (call.compacted) return (candidate) => prepareTranslation(call, candidate);
  if (namesStored(call) || call.request.compaction !== null)
    return (candidate) => prepareContinued(call, candidate);
  return (candidate) =>
    isPassed(call, candidate) ? preparePassthrough(call, candidate) : prepareTranslation(call, candidate);
}
