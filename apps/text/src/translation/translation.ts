import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Candidate } from '@gateway/upstream/candidate';
import type { UpstreamRequest } from '@gateway/upstream/requests/upstream-request';
import { reportDropped } from '../call/accounting/call-log.ts';
import { type FurtherRequests, furtherRequests } from '../call/accounting/further-requests.ts';
import { refusesThoughts } from '../call/attempts/foreign-thoughts.ts';
import { type PreparedAttempt, unlessRefused } from '../call/attempts/prepared-attempt.ts';
import { send } from '../call/attempts/send.ts';
import { targetOf, textProtocolOf } from '../call/candidates/target-of.ts';
import { tokensOf } from '../call/history/conversation-space.ts';
import { isStrict } from '../call/request/request-head.ts';
import type { TextCall } from '../call/request/text-call.ts';
import { lostStore, missed } from '../call/storing/store-response.ts';
import { type TranslatedRequest, translateRequest } from '../conversion/translate-request.ts';
import { refuseLosses } from '../neutral/losses.ts';
import type { Target } from '../neutral/target.ts';
import { continueTurn } from '../protocols/messages/reply/paused-turn.ts';
import type { JsonObject } from '../wire/json-object.ts';
import { formatPath } from '../wire/path.ts';
import { effectiveBody } from './effective-body.ts';
import { explainRefusal } from './explain-refusal.ts';
import { translatedHead, translatedHeaders } from './headers.ts';
import { type Answer, relayAnswer } from './relay-answer.ts';

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
        const further = plan.mayPause ? furtherRequests(call) : null;
        const goOn = continuing(call, candidate, further && { body, further });
        const answered = relayAnswer({ call, reply, plan, goOn, head: translatedHead(reply, context) });
        return further === null ? answered : answered.finally(further.release);
      },
    };
  });

function translate(call: TextCall, candidate: Candidate, rules: readonly RetryRule[]): TranslatedRequest {
  const { endpoint, request, model, compacted } = call;
  const caller = endpoint.protocol;
  const body = effectiveBody(caller, request.content.take());
  const target = amendedTarget(targetOf(candidate, model), rules);
  const { plan, ...translated } = translateRequest({ caller, body, target, tokens: tokensOf(call) });
  const dropped = [...translated.dropped, ...lostStore(call)];
  if (isStrict(call.caller)) refuseLosses(missed(call, dropped));
  const shown = compacted ? { compaction: { ...compacted, usage: compacted.spent.usage } } : {};
  return {
    plan: { ...plan, ...shown, ...(caller === 'responses' && { echo: { ...plan.echo, ...keptEcho(call) } }) },
    dropped,
    body: translated.body,
  };
}

/** The members of a response that say how it is stored. */
export const keptEcho = ({ history }: TextCall): JsonObject => ({
  store: history.storing === 'wanted',
  previous_response_id: null,
  ...history.continued?.members,
});

const upstreamRequest = (
  { caller, request }: TextCall,
  candidate: Candidate,
  body: TranslatedRequest['body'],
): UpstreamRequest => ({
  operation: textProtocolOf(candidate),
  method: 'POST',
  headers: translatedHeaders(caller.headers, request.streamed),
  translated: true,
  body: JSON.stringify(body),
});

/** Requests the rest of an answer from the same upstream each time it pauses, as far as budgets cover it. */
function continuing(
  call: TextCall,
  candidate: Candidate,
  first: { readonly body: TranslatedRequest['body']; readonly further: FurtherRequests } | null,
): Answer['goOn'] {
  const { context, services, endpoint, request } = call;
  let body = first?.body;
  return async (content) => {
    if (body === undefined || first === null) throw new Error('an answer that was not to pause');
    if (!(await first.further.reserve())) return null;
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

/** A refusal that the caller cannot avoid, and the change of the request that avoids it. */
interface RetryRule {
  readonly isFor: (error: GatewayError) => boolean;
  readonly amend: (target: Target) => Target;
}

/** OpenAI's answer to an organisation that it has not verified. */
const NO_SUMMARY = /verified to generate reasoning summaries/i;

const RETRY_RULES: readonly RetryRule[] = [
  {
    // Sealed by the same vendor, but the channel's credentials have changed since.
    isFor: refusesThoughts,
    amend: (target) => ({ ...target, withholdReasoning: true }),
  },
  {
    isFor: ({ code, message, options }) =>
      code === 'upstream_rejected' &&
      (NO_SUMMARY.test(message) || formatPath(options.path ?? []) === 'reasoning.summary'),
    amend: (target) => ({ ...target, quirks: { ...target.quirks, reasoningSummary: false } }),
  },
];

/** The rule by which a refused request may succeed; null: no rule is left. Each rule is applied once to a request. */
function retryRuleFor(refusal: unknown, applied: readonly RetryRule[]): RetryRule | null {
  if (!(refusal instanceof GatewayError)) return null;
  return RETRY_RULES.find((rule) => rule.isFor(refusal) && !applied.includes(rule)) ?? null;
}

const amendedTarget = (target: Target, rules: readonly RetryRule[]): Target =>
  rules.reduce((amended, { amend }) => amend(amended), target);
