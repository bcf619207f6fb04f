import type { GatewayError } from '@gateway/contracts/gateway-error';
import type { Candidate } from '@gateway/upstream/candidate';
import type { UpstreamRequest } from '@gateway/upstream/requests/upstream-request';
import { reportDropped } from '../call/call-log.ts';
import { conversationOf, previousIdOf } from '../call/history.ts';
import { lostStore, missed } from '../call/keep-response.ts';
import { type PreparedAttempt, unlessRefused } from '../call/prepared-attempt.ts';
import { isStrict } from '../call/request-head.ts';
import { send } from '../call/send.ts';
import { targetOf, textProtocolOf } from '../call/target-of.ts';
import type { TextCall } from '../call/text-call.ts';
import { refuseLosses } from '../conversation/losses.ts';
import { type TranslatedRequest, translateRequest } from '../conversion/translate-request.ts';
import { continueTurn } from '../protocols/messages/paused-turn.ts';
import type { JsonObject } from '../wire/json-object.ts';
import { effectiveBody } from './effective-body.ts';
import { explainRefusal } from './explain-refusal.ts';
import { translatedHead, translatedHeaders } from './headers.ts';
import { type Answer, relayAnswer } from './relay-answer.ts';
import { amendedTarget, type RetryRule, retryRuleFor } from './retry-rules.ts';

/** Prepares a call for a candidate of another protocol: the request and the reply are translated. */
export const prepareTranslation = (
  call: TextCall,
  candidate: Candidate,
  rules: readonly RetryRule[] = [],
): PreparedAttempt | GatewayError =>
  unlessRefused(() => {
    const { body, plan, dropped } = translate(call, candidate, rules);
    return {
      request: upstreamRequest(call, candidate, body),
      retry: (refusal) => {
        const rule = retryRuleFor(refusal, rules);
        return rule && prepareTranslation(call, candidate, [...rules, rule]);
      },
      explain: (refusal) => explainRefusal(refusal, call.endpoint.protocol, plan.target.protocol),
      receive: (reply) => {
        const { context } = call;
        context.line.upstreamProtocol = plan.target.protocol;
        reportDropped(call, plan.target.protocol, dropped);
        const goOn = continuing(call, candidate, plan.mayPause ? body : null);
        return relayAnswer({ call, reply, plan, goOn, head: translatedHead(reply, context) });
      },
    };
  });

function translate(call: TextCall, candidate: Candidate, rules: readonly RetryRule[]): TranslatedRequest {
  const { endpoint, message, request, model, services, compacted } = call;
  const caller = endpoint.protocol;
  const body = effectiveBody(caller, request.content.take());
  const target = amendedTarget(targetOf(candidate, model), rules);
  const { plan, ...translated } = translateRequest({ caller, body, target, tokens: services.tokens });
  const dropped = [...translated.dropped, ...lostStore(call)];
  if (isStrict(message)) refuseLosses(missed(call, dropped));
  const shown = compacted ? { compaction: { ...compacted, usage: compacted.spent.usage } } : {};
  return {
    plan: { ...plan, ...shown, ...(caller === 'responses' && { echo: { ...plan.echo, ...keptEcho(call) } }) },
    dropped,
    body: translated.body,
  };
}

/** What a response repeats of how it is kept. */
export const keptEcho = ({ history }: TextCall): JsonObject => ({
  store: history.storing === 'kept',
  previous_response_id: previousIdOf(history),
  ...conversationOf(history),
});

const upstreamRequest = (
  { message, request }: TextCall,
  candidate: Candidate,
  body: TranslatedRequest['body'],
): UpstreamRequest => ({
  operation: textProtocolOf(candidate),
  method: 'POST',
  headers: translatedHeaders(message.headers, request.streamed),
  translated: true,
  body: JSON.stringify(body),
});

/** Requests the rest of an answer from the same upstream, as often as it pauses: each time after what it sent by then. */
function continuing(
  call: TextCall,
  candidate: Candidate,
  first: TranslatedRequest['body'] | null,
): Answer['goOn'] {
  const { context, services, endpoint, request } = call;
  let body = first;
  return (content) => {
    if (body === null) throw new Error('an answer that was not to pause');
    const next = continueTurn(body, content);
    body = next;
    return send(context, services.upstream, {
      candidates: [candidate],
      request: () => upstreamRequest(call, candidate, next),
      dialect: endpoint.dialect,
      streamed: request.streamed,
    });
  };
}
