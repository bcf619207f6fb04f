import type { Candidate } from '@gateway/upstream/catalog';
import type { UpstreamRequest } from '@gateway/upstream/upstream-request';
import { type Carrier, unlessRefused } from '../call/adapter.ts';
import { noteLosses } from '../call/call-notes.ts';
import { isStrict } from '../call/is-strict.ts';
import { sendFor } from '../call/send-for.ts';
import { targetOf, textProtocolOf } from '../call/target-of.ts';
import type { TextCall } from '../call/text-call.ts';
import { type Dropped, refuseLosses } from '../conversation/losses.ts';
import type { AnswerPlan } from '../conversation/target.ts';
import { type TranslatedRequest, translateRequest } from '../conversion/translate-request.ts';
import { continueTurn } from '../protocols/messages/paused-turn.ts';
import { isJsonObject } from '../wire/raw-json.ts';
import { effectiveBody } from './effective-body.ts';
import { explainRefusal } from './explain-refusal.ts';
import { type Answer, relayAnswer } from './relay-answer.ts';
import { Remedies } from './remedies.ts';
import { translatedHead } from './reply-head.ts';
import { translatedHeaders } from './upstream-headers.ts';

/** What was asked of an upstream, which its answer is read by. */
interface Asked {
  readonly plan: AnswerPlan;
  readonly dropped: readonly Dropped[];
  /** Kept where the answer may have to be continued. */
  readonly body: TranslatedRequest['body'] | null;
}

/** Storing is the default of the protocol, so that it is missed also by those who do not ask for it. */
const NOT_STORED: Dropped = { path: ['store'], reason: 'responses of this model cannot be read back' };

/** Carries a call to a channel of another protocol: the request and the reply are written anew. */
export function createTranslation(call: TextCall): Carrier {
  const { endpoint, message, context, request, model, services } = call;
  const { tokens } = services;
  const caller = endpoint.protocol;
  const remedies = new Remedies();
  let asked: Asked | null = null;

  const translate = (candidate: Candidate): TranslatedRequest['body'] => {
    const body = effectiveBody(caller, request.content.take());
    const target = remedies.apply(targetOf(candidate, model));
    const { plan, dropped, body: written } = translateRequest({ caller, body, target, tokens });
    const unstored = caller === 'responses' && request.stored ? [NOT_STORED] : [];
    if (isStrict(message))
      refuseLosses(isJsonObject(body) && body.store ? [...dropped, ...unstored] : dropped);
    asked = {
      plan: caller === 'responses' ? { ...plan, echo: { ...plan.echo, store: false } } : plan,
      dropped: [...dropped, ...unstored],
      body: plan.mayPause ? written : null,
    };
    return written;
  };

  const requestOf = (candidate: Candidate, body: TranslatedRequest['body']): UpstreamRequest => ({
    operation: textProtocolOf(candidate),
    method: 'POST',
    headers: translatedHeaders(message.headers, request.streamed),
    translated: true,
    body: JSON.stringify(body),
  });

  /** Lets the same upstream go on, as often as it pauses: each time behind what it has said by then. */
  const continuing = (candidate: Candidate, first: TranslatedRequest['body'] | null): Answer['goOn'] => {
    let body = first;
    return (content) => {
      if (body === null) throw new Error('an answer that was not to pause');
      const next = continueTurn(body, content);
      body = next;
      return sendFor(context, services.upstream, {
        candidates: [candidate],
        request: () => requestOf(candidate, next),
        dialect: endpoint.dialect,
        streamed: request.streamed,
      });
    };
  };

  return {
    request: (candidate) => unlessRefused(() => requestOf(candidate, translate(candidate))),
    learn: (error) => remedies.learn(error),
    explain: (error, candidate) => explainRefusal(error, caller, textProtocolOf(candidate)),
    relay: async (reply) => {
      if (asked === null) throw new Error('a reply to nothing');
      const { plan, dropped, body } = asked;
      context.line.upstreamProtocol = plan.target.protocol;
      noteLosses(call, plan.target.protocol, dropped);
      const goOn = continuing(reply.candidate, body);
      const answer = { call, reply, plan, goOn, head: translatedHead(reply, context) };
      await relayAnswer(answer);
    },
  };
}
