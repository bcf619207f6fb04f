import type { IncomingMessage } from 'node:http';
import type { Frame } from '@gateway/contracts/event-stream/frame-reader';
import { isEventStream } from '@gateway/contracts/event-stream/sse-frames';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { type Caller, HttpCaller } from '@gateway/model-service/caller';
import { relayStream } from '@gateway/model-service/stream/relay-stream';
import { type Handler, parsedQuery } from '@gateway/service-kit/request/handler';
import { contextOf, identityOf, type RequestContext } from '@gateway/service-kit/request/request-context';
import type { Candidate } from '@gateway/upstream/candidate';
import type { Reply } from '@gateway/upstream/replies/reply';
import type { UpstreamRequest } from '@gateway/upstream/requests/upstream-request';
import { eventStreamHead, jsonHead } from '../../call/attempts/reply-head.ts';
import { send } from '../../call/attempts/send.ts';
import { MAX_REPLY_BYTES } from '../../call/attempts/whole-body.ts';
import { ownersOf } from '../../call/history/conversation-space.ts';
import { holdsAnswers } from '../../call/hooks/call-hooks.ts';
import { queryOf } from '../../call/request/request-head.ts';
import type { TextServices } from '../../call/request/text-call.ts';
import { streamHeaders } from '../../passthrough/headers.ts';
import { explainFor, passedStream } from '../../passthrough/passed-stream.ts';
import { relayJson } from '../../passthrough/relay-json.ts';
import { createResponsesStreamReader } from '../../protocols/responses/stream/stream-reader.ts';
import { candidateAt } from '../../stored/origins/candidate-at.ts';
import type { IdOrigin, ProviderId } from '../../stored/origins/id-origins.ts';
import { listedItems, receivedIds, replyWithin } from '../../stored/origins/received-ids.ts';
import { isFinal, originIn } from '../../stored/response-record.ts';
import type { JsonObject } from '../../wire/json-object.ts';
import {
  completeStored,
  findStored,
  listInput,
  removeStored,
  responseNotFound,
  type StoredResponse,
  shownStored,
  startingAfter,
  storedFrames,
} from './read-stored.ts';
import type { Shown } from './shown.ts';

interface StoredCall {
  readonly method: UpstreamRequest['method'];
  /** After the response's id, such as `/cancel`. */
  readonly subpath: '' | '/cancel' | '/input_items';
}

/** One call about an earlier response, and what is known of that. */
interface StoredRequest extends StoredCall {
  readonly services: TextServices;
  readonly incoming: IncomingMessage;
  readonly caller: Caller;
  readonly context: RequestContext;
  readonly id: string;
  /** Null for what was made before records were stored, and for what could not be stored. */
  readonly stored: StoredResponse | null;
  /** The provider that has it, if one does. */
  readonly made: { readonly origin: IdOrigin; readonly candidate: Candidate } | null;
}

/** Handles a call about an earlier response, for the key that received it: by our record, or by its provider. */
export function createStoredHandler(call: StoredCall, services: TextServices): Handler {
  return async (incoming, response, params) => {
    const context = contextOf(incoming);
    const id = String(params.id);
    context.line.responseId = id;
    const identity = identityOf(incoming);
    const { keyId } = identity;
    const owners = ownersOf(identity, services.upstream.configuration.conversations);
    const [stored, [found]] = await Promise.all([
      findStored(services, identity, id),
      services.origins.find([{ kind: 'response', id }], { keyId, owners }),
    ]);
    const origin = stored === null ? found : providersOrigin(stored);
    const candidate =
      typeof origin === 'object' ? candidateAt(services.upstream.configuration, origin) : null;
    const isRead = call.method === 'GET' && call.subpath === '';
    const model = stored === null ? null : originIn(stored.record.data).requestedModel;
    // Its provider has what hooks have held back from its caller.
    const isHeld =
      isRead && (stored === null || isFinal(stored.record.data)) && holdsAnswers(services, identity, model);
    const made = typeof origin === 'object' && candidate !== null && !isHeld ? { origin, candidate } : null;
    if (stored === null && made === null) throw responseNotFound(id);
    const caller = new HttpCaller(response);
    const request = { ...call, services, incoming, caller, context, id, stored, made };
    await (stored !== null && made === null ? answerStored(request, stored) : answer(request));
  };
}

function providersOrigin({ record: { data } }: StoredResponse): IdOrigin | 'unknown' {
  const origin = originIn(data);
  return origin.isProviders ? origin : 'unknown';
}

/** From the record where it has all that is requested, else from the provider; from the record too where that fails. */
async function answer(request: StoredRequest): Promise<void> {
  const { method, subpath, incoming, stored } = request;
  const isRead = method === 'GET' && (subpath === '/input_items' || queryOf(incoming) === '');
  if (stored !== null && isRead && isFinal(stored.record.data)) return answerStored(request, stored);
  try {
    await askProvider(request);
  } catch (error) {
    const isGone = error instanceof GatewayError && error.options.relay?.status === 404;
    const mayAnswer = method === 'GET' ? isUnanswered(error) || isGone : method === 'DELETE' && isGone;
    if (stored === null || !mayAnswer || !isFinal(stored.record.data)) throw error;
    await answerStored(request, stored);
  }
}

/** The provider has not answered, so the state of the response is unknown. */
const isUnanswered = (error: unknown): boolean =>
  error instanceof GatewayError && error.source === 'upstream' && error.options.relay === undefined;

async function answerStored(request: StoredRequest, stored: StoredResponse): Promise<void> {
  const { method, subpath, services, incoming, caller, context, id } = request;
  const query = new URLSearchParams(queryOf(incoming));
  if (method === 'DELETE') {
    await removeStored(services, stored);
    writeJson(caller, context, { id, object: 'response', deleted: true });
  } else if (method === 'POST') {
    // A background response that has ended stays as it is.
    if (stored.record.data.background === true)
      return writeJson(caller, context, await shownStored(services, stored));
    throw new GatewayError('invalid_value', { message: 'Cannot cancel a synchronous response.' });
  } else if (subpath === '/input_items') {
    writeJson(caller, context, await listInput(services, stored, parsedQuery(incoming)));
  } else {
    if (query.get('stream') !== 'true')
      return writeJson(caller, context, await shownStored(services, stored));
    const frames = await storedFrames(services, stored, startingAfter(query));
    caller.begin(200, eventStreamHead(context));
    caller.end(frames);
  }
}

function writeJson(caller: Caller, context: RequestContext, shown: Shown): void {
  const body = Buffer.isBuffer(shown) ? shown : Buffer.from(JSON.stringify(shown));
  caller.begin(200, { ...jsonHead(context), 'content-length': body.length });
  caller.end(body);
}

async function askProvider(request: StoredRequest): Promise<void> {
  const { method, subpath, services, incoming, caller, context, id, made } = request;
  if (made === null) throw responseNotFound(id);
  const { upstream, background } = services;
  const isDeletion = method === 'DELETE';
  // After the deletion its usage can no longer be read. If this look fails, the estimate is booked.
  const lookAtPending = () => background.look(id).catch(() => undefined);
  if (isDeletion) await lookAtPending();
  const reply: Reply = await send(context, upstream, {
    candidates: [made.candidate],
    request: () => ({
      operation: 'responses',
      method,
      subpath: `/${encodeURIComponent(id)}${subpath}`,
      query: queryOf(incoming),
      headers: incoming.headers,
    }),
    dialect: 'openai',
    streamed: true,
  });
  if (isEventStream(reply.headers)) {
    const reader = createResponsesStreamReader({ resumed: true });
    let noting: Promise<void> | undefined;
    const onFrame = (frame: Frame) => {
      const shown = replyWithin('responses', frame);
      if (shown !== null) noting = noteShown(request, shown);
      return null;
    };
    const end = await relayStream({
      reply,
      caller,
      context,
      stream: passedStream({
        ...{ reader, requestId: context.requestId, onFrame, explain: explainFor(reply) },
        namesEvents: false,
      }),
      status: reply.status,
      headers: streamHeaders(reply, context),
      keepAliveMs: services.keepAliveMs,
    });
    await noting;
    end();
    return;
  }
  const onBody = (body: JsonObject, whole: () => JsonObject) => onReply(request, body, whole);
  const bytes = await reply.bytes(MAX_REPLY_BYTES);
  const end = await relayJson({ reply, bytes, isCollected: false, caller, context, onBody });
  if (isDeletion) await lookAtPending();
  end();
}

/** Updates what is known by a provider's answer; returns the members that the caller gets instead. */
async function onReply(
  request: StoredRequest,
  body: JsonObject,
  whole: () => JsonObject,
): Promise<JsonObject | null> {
  const { method, subpath, services, id, stored } = request;
  if (method === 'DELETE') {
    if (stored !== null) await removeStored(services, stored);
    else await services.origins.forget({ kind: 'response', id }).catch(() => undefined);
    return null;
  }
  if (subpath === '/input_items') {
    await remember(request, listedItems(body));
    return null;
  }
  await noteShown(request, body.background === true ? whole() : body);
  const previous = stored?.record.previous ?? null;
  return previous === null ? null : { previous_response_id: previous };
}

/** Items of a background response are received when it is read, and its end may be seen for the first time. */
async function noteShown(request: StoredRequest, shown: JsonObject): Promise<void> {
  if (shown.background !== true) return;
  const { services, id, stored } = request;
  const isEnd = stored !== null && !isFinal(stored.record.data) && isFinal(shown);
  await Promise.all([
    remember(request, receivedIds('responses', shown, { responses: true, messages: false })),
    // If this fails, the next look in the background books it.
    services.background.seen(id, shown).catch(() => undefined),
    isEnd ? completeStored(services, stored, shown).catch(() => undefined) : undefined,
  ]);
}

/** Without Redis the answer still goes out. */
const remember = ({ services, made }: StoredRequest, ids: readonly ProviderId[]): Promise<void> =>
  made === null ? Promise.resolve() : services.origins.remember(ids, made.origin).catch(() => undefined);
