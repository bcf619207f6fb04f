import { GatewayError } from '@gateway/contracts/gateway-error';
import type { LoggedContent } from '@gateway/model-service/content-log/content-log';
import { LEFT } from '@gateway/model-service/content-log/request-content';
import type { SpanContentWriter } from '@gateway/model-service/tracing/content/span-contents';
import { CallerLeft } from '@gateway/service-kit/request/request-context';
import { createTextCollector } from '../../protocols/chat/stream/collect-texts.ts';
import { PROTOCOLS } from '../../protocols/protocols.ts';
import { namesOf } from '../request/conversation-key.ts';
import type { CallContent, OpenedCall } from '../request/text-call.ts';
import { GatheredAnswer } from './gathered-answer.ts';
import { WatchedCaller } from './watched-caller.ts';

/**
 * A call whose content is gathered for the content log, where a rule of it applies, and for its span, where an operator has asked for
 * that. Any other stays as it is, and is not waited for.
 *
 * @param jobId that of the job which makes the call
 * @throws {GatewayError} where its caller wants it not to be logged and may not choose
 */
export function withContent<Call extends OpenedCall>(call: Call, jobId?: string): Call | Promise<Call> {
  const { services, identity, request, context, caller } = call;
  if (services.upstream.configuration.contentLog === null) return gathered(call, null, jobId);
  const { model } = request;
  const asking = { identity, model, headers: caller.headers, requestId: context.requestId };
  const begun = services.contentLog.begin(asking);
  return begun === null ? gathered(call, null, jobId) : begun.then((logged) => gathered(call, logged, jobId));
}

function gathered<Call extends OpenedCall>(call: Call, logged: LoggedContent | null, jobId?: string): Call {
  const { identity, request, context, endpoint } = call;
  const { requestId } = context;
  const shown = openSpanContent(call);
  if (logged === null && shown === null) return call;
  if (logged?.isLogged !== true && shown === null)
    return { ...call, content: { note: logged?.note ?? {}, ...NOTHING_LOGGED } };
  const answer = new GatheredAnswer(collectorFor(endpoint));
  const names = namesOf(call);
  let asked = request.bytes;
  const content: CallContent = {
    get note() {
      return logged?.note ?? {};
    },
    replaced: (bytes) => {
      asked = bytes;
    },
    end: ({ candidate, thrown }) => {
      const { isOverlong, ...whole } = answer.whole();
      const error = errorOf(call, thrown);
      const sides = { request: { json: asked }, ...whole };
      shown?.end({ ...sides, isOverlong });
      logged?.end({
        facts: {
          id: jobId ?? String(context.line.usageId ?? requestId),
          requestId,
          keyId: identity.keyId,
          team: identity.team,
          endpoint: endpoint.scope,
          model: request.model,
          channel: candidate?.channel.name ?? null,
          ...names,
          ...(error !== null && { error }),
          ...(error !== null && whole.answer !== null && { isPartial: true }),
        },
        ...sides,
        overlong: isOverlong ? ['answer'] : [],
      });
    },
    cancel: () => {
      logged?.cancel();
      shown?.cancel();
    },
  };
  return { ...call, caller: new WatchedCaller(call.caller, answer), content };
}

/** Null: its span has no content. */
function openSpanContent({
  services: { spanContents },
  context: { trace },
  identity,
  request: { model },
  caller: { headers },
}: OpenedCall): SpanContentWriter | null {
  if (spanContents === null || !trace?.isSampled) return null;
  const content = spanContents.begin({ identity, model, headers });
  if (content !== null) trace.content = { places: spanContents.places, attributes: content.attributes };
  return content;
}

const NOTHING_LOGGED = { replaced: () => undefined, end: () => undefined, cancel: () => undefined };

/** What puts a stream together for the log. */
const collectorFor = ({ operation, protocol }: OpenedCall['endpoint']) =>
  operation === 'completions' ? createTextCollector : PROTOCOLS[protocol].createEventCollector;

/** Why it is no whole answer; null where it is one. */
function errorOf({ context }: OpenedCall, thrown: unknown): { code: string; message: string } | null {
  const error = thrown instanceof GatewayError ? thrown : context.failure;
  if (error !== undefined) return { code: error.code, message: error.message };
  if (thrown !== undefined) return { code: 'internal', message: 'The gateway failed.' };
  return context.signal.reason instanceof CallerLeft ? LEFT : null;
}
