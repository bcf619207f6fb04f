import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Candidate } from '@gateway/upstream/candidate';
import type { Reply } from '@gateway/upstream/replies/reply';
import { logFirstByte } from '../../call/accounting/call-log.ts';
import { failedWith, NOTHING_KNOWN, type ReplyOutcome } from '../../call/accounting/outcome.ts';
import { type PreparedAttempt, unlessRefusedLater } from '../../call/attempts/prepared-attempt.ts';
import { conversationProtocolOf, targetOf } from '../../call/candidates/target-of.ts';
import { tokensOf } from '../../call/history/conversation-space.ts';
import type { TextCall } from '../../call/request/text-call.ts';
import { translateRequest } from '../../conversion/translate-request.ts';
import { type MaybePromise, whenDone } from '../../large/maybe-promise.ts';
import { UPSTREAMS } from '../../protocols/protocols.ts';
import { explainRefusal } from '../../translation/explain-refusal.ts';
import { translatedHead, translatedHeaders } from '../../translation/headers.ts';
import { translateLarge } from '../../translation/translation.ts';
import { objectOf, parseObject } from '../../wire/json-object.ts';
import { type CountEndpoint, countedBody } from './count-endpoint.ts';

const MAX_REPLY_BYTES = 65_536;

/** Prepares the question how many tokens a request would be at a candidate of another protocol: translated first. */
export const prepareCountTranslation = (
  call: TextCall,
  candidate: Candidate,
  { endpoint, replyBody }: CountEndpoint,
): MaybePromise<PreparedAttempt | GatewayError> =>
  unlessRefusedLater(() => {
    const protocol = conversationProtocolOf(candidate);
    return whenDone(countedText(call, candidate), (body) => ({
      request: {
        operation: UPSTREAMS[protocol].counting.operation,
        method: 'POST',
        headers: translatedHeaders(call.caller.headers, false),
        translated: true,
        body,
      },
      explain: (refusal: GatewayError) => explainRefusal(refusal, endpoint.protocol, protocol),
      receive: (reply: Reply) => relayCount(call, reply, replyBody).catch(failedWith),
    }));
  });

/** The body of the question. */
function countedText(call: TextCall, candidate: Candidate): MaybePromise<string | Buffer> {
  const { endpoint, request, model } = call;
  const caller = endpoint.protocol;
  const target = { ...targetOf(candidate, model), countsOnly: true };
  if (request.large !== null)
    return translateLarge(call, request.large, target).then((translated) => translated.body);
  const body = countedBody(caller, request.content.take());
  if (caller === target.protocol)
    return JSON.stringify(UPSTREAMS[caller].counting.bodyOf(objectOf(body), target));
  const translated = translateRequest({ caller, body, target, tokens: tokensOf(call) });
  return JSON.stringify(UPSTREAMS[target.protocol].counting.bodyOf(translated.body, target));
}

async function relayCount(
  call: TextCall,
  reply: Reply,
  replyBody: CountEndpoint['replyBody'],
): Promise<ReplyOutcome> {
  const { context, caller } = call;
  const { tokensIn } = UPSTREAMS[conversationProtocolOf(reply.candidate)].counting;
  const body = parseObject((await reply.bytes(MAX_REPLY_BYTES)).toString());
  const inputTokens = body && tokensIn(body);
  if (inputTokens === null) {
    throw new GatewayError('upstream_failed', {
      message: 'The upstream did not report how many tokens there are.',
      source: 'upstream',
    });
  }
  const end = () => {
    caller.begin(200, translatedHead(reply, context));
    caller.end(JSON.stringify(replyBody(inputTokens)));
  };
  return { ...NOTHING_KNOWN, firstByteMs: logFirstByte(call, reply), thrown: undefined, end };
}
