import { GatewayError } from '@gateway/contracts/gateway-error';
import { CallerLeft } from '@gateway/service-kit/request/request-context';
import { createTextCollector } from '../../protocols/chat/stream/collect-texts.ts';
import { PROTOCOLS } from '../../protocols/protocols.ts';
import { namesOf } from '../request/conversation-key.ts';
import type { CallContent, OpenedCall } from '../request/text-call.ts';
import { GatheredAnswer } from './gathered-answer.ts';
import { WatchedCaller } from './watched-caller.ts';

/**
 * A call whose content is gathered for the content log, where a rule of it applies. Any other stays as it is.
 *
 * @param jobId that of the job which makes the call
 * @throws {GatewayError} where its caller wants it not to be logged and may not choose
 */
export function withContent<Call extends OpenedCall>(call: Call, jobId?: string): Call {
  const { services, identity, request, context, endpoint } = call;
  if (services.upstream.configuration.contentLog === null) return call;
  const logged = services.contentLog.begin({
    identity,
    model: request.model,
    headers: call.caller.headers,
    requestId: context.requestId,
  });
  if (logged === null) return call;
  if (!logged.isLogged) return { ...call, content: { note: logged.note, ...NOTHING_LOGGED } };
  const answer = new GatheredAnswer(collectorFor(endpoint));
  const names = namesOf(call);
  let asked = request.bytes;
  const content: CallContent = {
    get note() {
      return logged.note;
    },
    replaced: (bytes) => {
      asked = bytes;
    },
    end: ({ candidate, thrown }) => {
      const { isOverlong, ...gathered } = answer.whole();
      const error = errorOf(call, thrown);
      logged.end({
        facts: {
          id: jobId ?? String(context.line.usageId ?? context.requestId),
          requestId: context.requestId,
          keyId: identity.keyId,
          team: identity.team,
          endpoint: endpoint.scope,
          model: request.model,
          channel: candidate?.channel.name ?? null,
          ...names,
          ...(error !== null && { error }),
          ...(error !== null && gathered.answer !== null && { isPartial: true }),
        },
        request: { json: asked },
        ...gathered,
        overlong: isOverlong ? ['answer'] : [],
      });
    },
    cancel: () => logged.cancel(),
  };
  return { ...call, caller: new WatchedCaller(call.caller, answer), content };
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
  return context.signal.reason instanceof CallerLeft
    ? { code: 'client_closed_request', message: 'The caller left before the end of the answer.' }
    : null;
}
