import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Candidate } from '@gateway/upstream/candidate';
import type { UpstreamRequest } from '@gateway/upstream/requests/upstream-request';
import { reportDropped } from '../call/accounting/call-log.ts';
import { type FurtherRequests, furtherRequests } from '../call/accounting/further-requests.ts';
import type { ReplyOutcome } from '../call/accounting/outcome.ts';
import { consumedByDiscarded } from '../call/attempts/discarded-reply.ts';
import { enveloped } from '../call/attempts/envelope.ts';
import { refusesThoughts } from '../call/attempts/foreign-thoughts.ts';
import { type PreparedAttempt, unlessRefusedLater } from '../call/attempts/prepared-attempt.ts';
import { send } from '../call/attempts/send.ts';
import { checkWholeReply } from '../call/attempts/whole-body.ts';
import { conversationProtocolOf, targetOf } from '../call/candidates/target-of.ts';
import { tokensOf } from '../call/history/conversation-space.ts';
import { isStrict } from '../call/request/request-head.ts';
import { type TextCall, waitingFor } from '../call/request/text-call.ts';
import type { LargeBody } from '../call/request/text-request.ts';
import { lostStore, missed } from '../call/storing/store-response.ts';
import { type TranslatedRequest, translateRequest } from '../conversion/translate-request.ts';
import { allDropped } from '../large/dropped.ts';
import { inThread } from '../large/in-thread.ts';
import { type MaybePromise, whenDone } from '../large/maybe-promise.ts';
import { bufferOf } from '../large/shared-bytes.ts';
import type { FetchedMedia } from '../neutral/encoding/named-media.ts';
import { refuseLosses } from '../neutral/losses.ts';
import type { Target } from '../neutral/target.ts';
import { continueTurn } from '../protocols/messages/reply/paused-turn.ts';
import { type JsonObject, objectOf } from '../wire/json-object.ts';
import { formatPath } from '../wire/path.ts';
import { parseBody } from '../wire/raw-json.ts';
import { addUsage, NO_USAGE, type Usage } from '../wire/usage.ts';
import { effectiveBody } from './effective-body.ts';
import { explainRefusal } from './explain-refusal.ts';
import { fetchMedia } from './fetch-media.ts';
import { translatedHead, translatedHeaders } from './headers.ts';
import { type Answer, relayAnswer } from './relay-answer.ts';

/** Prepares a call for a candidate of another protocol: the request and the reply are translated. */
export const prepareTranslation = (
  call: TextCall,
  candidate: Candidate,
  rules: readonly RetryRule[] = [],
): MaybePromise<PreparedAttempt | GatewayError> =>
  unlessRefusedLater(() =>
    whenDone(translate(call, candidate, rules), (translated) => {
      const { body, plan, dropped } = amended(call, translated);
      return {
        request: {
          ...upstreamRequest(call, candidate, body),
          ...(plan.answeredWhole && { streamed: false }),
        },
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
          const head = translatedHead(reply, context);
          if (further === null) return relayAnswer({ call, reply, plan, goOn: neverPauses, head });
          const discarded: Usage[] = [];
          const goOn = continuing(call, candidate, { body, further, discarded });
          return relayAnswer({ call, reply, plan, goOn, head })
            .then((outcome) => withDiscarded(outcome, discarded))
            .finally(further.release);
        },
      };
    }),
  );

/** A translated request's body: a large one as the thread has written it. */
type WrittenBody = TranslatedRequest['body'] | Buffer;
type Translated = Omit<TranslatedRequest, 'body'> & { readonly body: WrittenBody };

function translate(
  call: TextCall,
  candidate: Candidate,
  rules: readonly RetryRule[],
): MaybePromise<Translated> {
  const { endpoint, request, model } = call;
  const caller = endpoint.protocol;
  const target = amendedTarget(targetOf(candidate, model), rules);
  const write = (fetched: ReadonlyMap<string, FetchedMedia>): MaybePromise<Translated> => {
    if (request.large !== null) return translateLarge(call, request.large, target, fetched);
    const body = effectiveBody(caller, request.content.take());
    return translateRequest({ caller, body, target, tokens: tokensOf(call), fetched });
  };
  return whenDone(write(NOTHING_FETCHED), (written) =>
    written.wanted.length === 0 ? written : fetchMedia(call, written.wanted).then(write),
  );
}

const NOTHING_FETCHED: ReadonlyMap<string, FetchedMedia> = new Map();

/** The same in the thread. @throws {GatewayError} as `translateRequest` */
export async function translateLarge(
  call: TextCall,
  { bytes }: LargeBody,
  target: Target,
  fetched?: ReadonlyMap<string, FetchedMedia>,
): Promise<Omit<TranslatedRequest, 'body'> & { readonly body: Buffer }> {
  const task = { caller: call.endpoint.protocol, bytes, target, tokens: tokensOf(call).key, fetched };
  const written = await inThread('translate', task, waitingFor(call));
  const { plan, echo, dropped, wanted } = written;
  return {
    body: bufferOf(written.bytes),
    plan: { ...plan, echo: objectOf(parseBody(echo)) },
    dropped: allDropped(dropped),
    wanted,
  };
}

/** A translated request with what its call adds. @throws {GatewayError} under `x-gateway-strict` for a loss */
function amended(
  call: TextCall,
  { plan, body, ...translated }: Translated,
): Pick<Translated, 'plan' | 'dropped' | 'body'> {
  const { endpoint, compacted } = call;
  const caller = endpoint.protocol;
  const dropped = [...translated.dropped, ...lostStore(call)];
  if (isStrict(call.caller)) refuseLosses(missed(call, dropped));
  const shown = compacted ? { compaction: { ...compacted, usage: compacted.spent.usage } } : {};
  return {
    plan: { ...plan, ...shown, ...(caller === 'responses' && { echo: { ...plan.echo, ...keptEcho(call) } }) },
    dropped,
    body,
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
  body: WrittenBody,
): UpstreamRequest => ({
  operation: conversationProtocolOf(candidate),
  method: 'POST',
  headers: translatedHeaders(caller.headers, request.streamed),
  translated: true,
  body: Buffer.isBuffer(body) ? body : JSON.stringify(body),
});

const neverPauses = () => Promise.reject(new Error('an answer that was not to pause'));

interface FirstRequest {
  readonly body: WrittenBody;
  readonly further: FurtherRequests;
  /** Gets what replies have used that are no answers. */
  readonly discarded: Usage[];
}

/** Requests the rest of an answer from the same upstream each time it pauses, as far as budgets cover it. */
function continuing(call: TextCall, candidate: Candidate, first: FirstRequest): Answer['goOn'] {
  const { context, services, endpoint, request } = call;
  let { body } = first;
  return async (content) => {
    if (!(await first.further.reserve())) return null;
    const next = await continued(call, body, content);
    body = next;
    const reply = await send(context, services.upstream, {
      candidates: [candidate],
      request: () => enveloped(upstreamRequest(call, candidate, next), candidate),
      dialect: endpoint.dialect,
      streamed: request.streamed,
      checkOutput: checkWholeReply,
      onDiscarded: (reply) => {
        const { usage } = consumedByDiscarded(call, reply);
        if (usage !== null) first.discarded.push(usage);
      },
    });
    return call.hooks ? call.hooks.reply(reply) : reply;
  };
}

const withDiscarded = (outcome: ReplyOutcome, discarded: readonly Usage[]): ReplyOutcome =>
  discarded.length === 0
    ? outcome
    : { ...outcome, usage: discarded.reduce(addUsage, outcome.usage ?? NO_USAGE) };

async function continued(
  call: TextCall,
  body: WrittenBody,
  content: Parameters<Answer['goOn']>[0],
): Promise<WrittenBody> {
  if (!Buffer.isBuffer(body)) return continueTurn(body, content);
  const task = { bytes: body, content: JSON.stringify(content) };
  return bufferOf(await inThread('continue', task, waitingFor(call)));
}

/** A refusal that the caller cannot avoid, and the change of the request that avoids it. */
interface RetryRule {
  readonly isFor: (error: GatewayError) => boolean;
  readonly amend: (target: Target) => Target;
}

/** Bedrock's answers to cache points of a model that takes none. */
const NO_CACHING = /\bcache ?points?\b|\bprompt caching\b|\bexplicit caching\b/i;

/** Bedrock's answer to a tool choice that its model does not take. */
const NO_DEMAND = /\btoolChoice\.(?:any|tool|auto)\b/;

/** OpenAI's answer to an organisation that it has not verified. */
const NO_SUMMARY = /verified to generate reasoning summaries/i;

/** Gemini's answers to models that are steered otherwise than the configuration says, and to a call without its signature. */
const NO_LEVEL = /thinking[_ ]?level\b.{0,40}\bnot supported/i;
const NO_SIGNATURE = /missing a thought_?signature/i;

const RETRY_RULES: readonly RetryRule[] = [
  {
    isFor: ({ code, message }) => code === 'upstream_rejected' && NO_LEVEL.test(message),
    amend: (target) => ({ ...target, quirks: { ...target.quirks, thinking: 'manual' } }),
  },
  {
    isFor: ({ code, message }) => code === 'upstream_rejected' && NO_SIGNATURE.test(message),
    amend: (target) => ({ ...target, quirks: { ...target.quirks, thinking: 'adaptive' } }),
  },
  {
    // Sealed by the same vendor, but the channel's credentials have changed since.
    isFor: refusesThoughts,
    amend: (target) => ({ ...target, withholdReasoning: true }),
  },
  {
    isFor: ({ code, message }) => code === 'upstream_rejected' && NO_CACHING.test(message),
    amend: (target) => ({ ...target, quirks: { ...target.quirks, cachePoints: [] } }),
  },
  {
    isFor: ({ code, message }) => code === 'upstream_rejected' && NO_DEMAND.test(message),
    amend: (target) => ({ ...target, quirks: { ...target.quirks, demandedCalls: false } }),
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
