import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Candidate } from '@gateway/upstream/candidate';
import type { Reply } from '@gateway/upstream/replies/reply';
import { logFirstByte } from '../../call/accounting/call-log.ts';
import { failedWith, NOTHING_KNOWN, type ReplyOutcome } from '../../call/accounting/outcome.ts';
import { type PreparedAttempt, unlessRefused } from '../../call/attempts/prepared-attempt.ts';
import { targetOf, textProtocolOf } from '../../call/candidates/target-of.ts';
import { tokensOf } from '../../call/history/conversation-space.ts';
import type { TextCall } from '../../call/request/text-call.ts';
import { translateRequest } from '../../conversion/translate-request.ts';
import { explainRefusal } from '../../translation/explain-refusal.ts';
import { translatedHead, translatedHeaders } from '../../translation/headers.ts';
import { numberAt, parseObject } from '../../wire/json-object.ts';
import { COUNT_OPERATIONS, COUNTED_MEMBERS, type CountEndpoint, countedBody } from './count-endpoint.ts';

const MAX_REPLY_BYTES = 65_536;

/** Prepares the question how many tokens a request would be at a candidate of another protocol: translated first. */
export const prepareCountTranslation = (
  call: TextCall,
  candidate: Candidate,
  { endpoint, replyBody }: CountEndpoint,
): PreparedAttempt | GatewayError =>
  unlessRefused(() => {
    const { caller, request, model } = call;
    const protocol = textProtocolOf(candidate);
    const translated = translateRequest({
      caller: endpoint.protocol,
      body: countedBody(endpoint.protocol, request.content.take()),
      target: { ...targetOf(candidate, model), countsOnly: true },
      tokens: tokensOf(call),
    });
    const counted = Object.entries(translated.body).filter(([name]) =>
      COUNTED_MEMBERS[protocol].includes(name),
    );
    return {
      request: {
        operation: COUNT_OPERATIONS[protocol],
        method: 'POST',
        headers: translatedHeaders(caller.headers, false),
        translated: true,
        body: JSON.stringify(Object.fromEntries(counted)),
      },
      explain: (refusal) => explainRefusal(refusal, endpoint.protocol, protocol),
      receive: (reply) => relayCount(call, reply, replyBody).catch(failedWith),
    };
  });

async function relayCount(
  call: TextCall,
  reply: Reply,
  replyBody: CountEndpoint['replyBody'],
): Promise<ReplyOutcome> {
  const { context, caller } = call;
  const body = parseObject((await reply.bytes(MAX_REPLY_BYTES)).toString());
  const inputTokens = body && numberAt(body, 'input_tokens');
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
