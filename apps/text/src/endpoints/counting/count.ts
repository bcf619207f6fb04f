import { GatewayError } from '@gateway/contracts/gateway-error';
import { HttpCaller } from '@gateway/model-service/caller';
import type { Handler } from '@gateway/service-kit/request/handler';
import type { Candidate } from '@gateway/upstream/candidate';
import { attemptCandidates } from '../../call/attempts/attempt-candidates.ts';
import { prepareNamed } from '../../call/attempts/prepare-named.ts';
import { unlessRefusedLater } from '../../call/attempts/prepared-attempt.ts';
import { jsonHead } from '../../call/attempts/reply-head.ts';
import { conversationProtocolOf } from '../../call/candidates/target-of.ts';
import { tokensOf } from '../../call/history/conversation-space.ts';
import { threadUnsupported } from '../../call/history/threads/thread-errors.ts';
import { wholeCall } from '../../call/history/whole-conversation.ts';
import { candidatesFor, holdCall, openCall } from '../../call/open-call.ts';
import { addressIn } from '../../call/request/address.ts';
import { namesStored } from '../../call/request/history.ts';
import { type TextCall, type TextServices, waitingFor } from '../../call/request/text-call.ts';
import { openCompactions } from '../../compaction/open-compactions.ts';
import { inThread } from '../../large/in-thread.ts';
import { whenDone } from '../../large/maybe-promise.ts';
import { estimateTokens } from '../../neutral/estimate-tokens.ts';
import { refuseParameter } from '../../neutral/losses.ts';
import { preparePassthrough } from '../../passthrough/passthrough.ts';
import { PROTOCOLS, UPSTREAMS } from '../../protocols/protocols.ts';
import type { NamedId } from '../../stored/origins/named-ids.ts';
import { inputChecked } from '../answer-call.ts';
import { type CountEndpoint, countedBody } from './count-endpoint.ts';
import { prepareCountTranslation } from './count-translation.ts';

/** Set where a number was counted with a tokenizer that is not the model's own. */
const ESTIMATED_HEADER = 'x-gateway-estimated';

/**
 * Handles an endpoint that counts a request's input tokens. The routes that would answer the request count, as far
 * as they can; where none can, the gateway estimates.
 */
export function createCountHandler(count: CountEndpoint, services: TextServices): Handler {
  return async (incoming, response, params) => {
    const opened = await openCall(count.endpoint, services, incoming, {
      caller: new HttpCaller(response),
      address: addressIn(params, false),
    });
    const held = { ...(await holdCall(opened, 'counting')), reservation: null };
    const usable = candidatesFor(held);
    const candidates = usable.filter(isFirstChoice).filter(canCount);
    if (candidates.length === 0) return estimate(held, usable, count);
    // A provider gets its texts, as with a request that it answers.
    const call = await inputChecked(held);
    const prepareOne = (named: TextCall, candidate: Candidate) => {
      const opened = unlessRefusedLater(() => openCompactions(named, candidate));
      return whenDone(opened, (one) => {
        if (one instanceof GatewayError) return one;
        return candidate.protocol === count.endpoint.protocol && !count.isRewritten
          ? preparePassthrough(one, candidate)
          : prepareCountTranslation(one, candidate, count);
      });
    };
    const prepare = (candidate: Candidate) => prepareNamed(call, candidate, prepareOne);
    const { thrown, end } = await attemptCandidates(call, { candidates, prepare, holdsStart: false });
    if (isUnknownPath(thrown)) return estimate(call, usable, count);
    if (thrown !== undefined) throw thrown;
    end();
  };
}

/** A reserve of another kind counts differently, so only the routes of the first priority count. */
const isFirstChoice = ({ route }: Candidate, _: number, all: readonly Candidate[]): boolean =>
  route.priority === all[0]?.route.priority;

const canCount = (candidate: Candidate): boolean =>
  candidate.channel.paths[UPSTREAMS[conversationProtocolOf(candidate)].counting.operation] !== undefined;

/** Servers of other makers mostly lack this path of a protocol that they speak. */
const isUnknownPath = (error: unknown): boolean =>
  error instanceof GatewayError && error.code === 'upstream_misconfigured';

async function estimate(call: TextCall, [candidate]: readonly Candidate[], { replyBody }: CountEndpoint) {
  const { context, caller, history } = call;
  const unseen = history.isWhole ? undefined : call.request.ids.find(({ need }) => need === 'required');
  const isNamed = unseen === undefined && candidate !== undefined && namesStored(call);
  const whole = isNamed ? await wholeCall(call, candidate) : call;
  const { request } = candidate === undefined ? whole : await openCompactions(whole, candidate);
  const inputTokens = await countHere({ ...call, request }, () => {
    if (unseen !== undefined) refuseUnseen(unseen);
  });
  context.line.usageEstimated = true;
  caller.begin(200, { ...jsonHead(context), [ESTIMATED_HEADER]: 'true' });
  caller.end(JSON.stringify(replyBody(inputTokens)));
}

/** @param check what has to be right beside the request itself */
async function countHere(call: TextCall, check: () => void): Promise<number> {
  const { endpoint, request } = call;
  const caller = endpoint.protocol;
  if (request.large !== null) {
    check();
    const task = { caller, bytes: request.large.bytes, tokens: tokensOf(call).key };
    return inThread('count', task, waitingFor(call));
  }
  const body = countedBody(caller, request.content.take());
  check();
  return estimateTokens(PROTOCOLS[caller].decodeRequest(body, tokensOf(call)));
}

/** What only the provider holds cannot be counted here, and a count without it would be far too low. */
function refuseUnseen({ kind, path }: NamedId): never {
  if (kind === 'message') throw threadUnsupported();
  return refuseParameter(
    path,
    'What the provider keeps cannot be counted: no route of this model counts itself.',
  );
}
