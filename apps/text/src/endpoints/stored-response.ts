import { GatewayError } from '@gateway/contracts/gateway-error';
import { isEventStream } from '@gateway/model-service/stream/is-event-stream';
import { relayStream } from '@gateway/model-service/stream/relay-stream';
import type { Frame } from '@gateway/service-kit/event-stream/frame-reader';
import { contextOf, identityOf } from '@gateway/service-kit/request-context';
import type { UpstreamRequest } from '@gateway/upstream/upstream-request';
import type { RequestHandler } from 'express';
import { queryOf } from '../call/request-head.ts';
import { send } from '../call/send.ts';
import type { TextServices } from '../call/text-call.ts';
import { streamHeaders } from '../passthrough/headers.ts';
import { passedStream } from '../passthrough/passed-stream.ts';
import { relayJson } from '../passthrough/relay-json.ts';
import { createResponsesStreamReader } from '../protocols/responses/stream-reader.ts';
import { candidateAt } from '../stored/candidate-at.ts';
import type { IdOrigin, ProviderId } from '../stored/id-origins.ts';
import { listedItems, receivedIds, replyWithin } from '../stored/received-ids.ts';
import type { JsonObject } from '../wire/json-object.ts';

interface StoredCall {
  readonly method: UpstreamRequest['method'];
  /** Behind the response's id, such as `/cancel`. */
  readonly subpath: '' | '/cancel' | '/input_items';
}

/** Handles a call about an earlier response: it passes to the channel that made it, for the key that received it. */
export function createStoredHandler({ method, subpath }: StoredCall, services: TextServices): RequestHandler {
  const { upstream, origins, background } = services;
  const isDeletion = method === 'DELETE';
  return async (message, response) => {
    const context = contextOf(message);
    const id = String(message.params.id);
    context.line.responseId = id;
    const [origin] = await origins.find([{ kind: 'response', id }], identityOf(message).keyId);
    const candidate = typeof origin === 'object' ? candidateAt(upstream.configuration, origin) : null;
    if (typeof origin !== 'object' || candidate === null) throw notFound(id);
    // After the deletion its usage can no longer be read. If this look fails, the estimate is booked.
    const lookAtPending = () => background.look(id).catch(() => undefined);
    if (isDeletion) await lookAtPending();

    const reply = await send(context, upstream, {
      candidates: [candidate],
      request: () => ({
        operation: 'responses',
        method,
        subpath: `/${encodeURIComponent(id)}${subpath}`,
        query: queryOf(message),
        headers: message.headers,
      }),
      dialect: 'openai',
      streamed: true,
    });
    const onResponse = (shown: JsonObject) => noteShown(services, origin, id, shown);
    if (isEventStream(reply.headers)) {
      const reader = createResponsesStreamReader({ resumed: true });
      const onFrame = (frame: Frame) => {
        const shown = replyWithin('responses', frame);
        if (shown !== null) void onResponse(shown);
      };
      await relayStream({
        reply,
        response,
        context,
        stream: passedStream({ reader, requestId: context.requestId, onFrame }),
        status: reply.status,
        headers: streamHeaders(reply, context),
        keepAliveMs: services.keepAliveMs,
      });
      return;
    }
    const onBody = (body: JsonObject) => {
      if (isDeletion) return origins.forget({ kind: 'response', id }).catch(() => undefined);
      if (subpath === '/input_items') return remember(services, origin, listedItems(body));
      return onResponse(body);
    };
    await relayJson({ reply, response, context, onBody });
    if (isDeletion) await lookAtPending();
  };
}

const notFound = (id: string) =>
  new GatewayError('object_not_found', { path: ['id'], message: `Response with id '${id}' not found.` });

/** Items of a background response are received when it is read, and its end may be seen for the first time. */
async function noteShown(
  services: TextServices,
  origin: IdOrigin,
  id: string,
  shown: JsonObject,
): Promise<void> {
  if (shown.background !== true) return;
  await Promise.all([
    remember(services, origin, receivedIds('responses', shown, { responses: true, messages: false })),
    // If this fails, the next look in the background books it.
    services.background.seen(id, shown).catch(() => undefined),
  ]);
}

/** Without Redis the answer still goes out. */
const remember = (services: TextServices, origin: IdOrigin, ids: readonly ProviderId[]): Promise<void> =>
  services.origins.remember(ids, origin).catch(() => undefined);
