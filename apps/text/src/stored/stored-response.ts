import { GatewayError } from '@gateway/contracts/gateway-error';
import { isEventStream } from '@gateway/model-service/stream/is-event-stream';
import { relayStream } from '@gateway/model-service/stream/relay-stream';
import { contextOf, identityOf } from '@gateway/service-kit/request-context';
import type { Candidate } from '@gateway/upstream/catalog';
import type { Configuration } from '@gateway/upstream/configuration/configuration';
import type { UpstreamRequest } from '@gateway/upstream/upstream-request';
import type { RequestHandler } from 'express';
import { passedStream } from '../passthrough/passed-stream.ts';
import { relayJson } from '../passthrough/relay-json.ts';
import { streamHeaders } from '../passthrough/reply-headers.ts';
import { createResponsesStreamReader } from '../protocols/responses/stream-reader.ts';
import { queryOf } from '../query-of.ts';
import { sendFor } from '../send-for.ts';
import type { TextServices } from '../text-call.ts';
import type { ResponseOrigin } from './response-origins.ts';

interface StoredCall {
  readonly method: UpstreamRequest['method'];
  /** Behind the response's id, such as `/cancel`. */
  readonly subpath: '' | '/cancel' | '/input_items';
}

/** Handles a call about an earlier response: it passes to the channel that made it, for the key that asked for it. */
export function createStoredHandler({ method, subpath }: StoredCall, services: TextServices): RequestHandler {
  const { upstream, origins } = services;
  return async (message, response) => {
    const context = contextOf(message);
    const id = String(message.params.id);
    context.line.responseId = id;
    const origin = await origins.find(id, identityOf(message).keyId);
    const candidate = origin && candidateAt(upstream.configuration, origin);
    if (candidate === null) throw notFound(id);

    const reply = await sendFor(context, upstream, {
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
    if (isEventStream(reply.headers)) {
      await relayStream({
        reply,
        response,
        context,
        stream: passedStream(createResponsesStreamReader({ resumed: true }), context.requestId),
        status: reply.status,
        headers: streamHeaders(reply, context),
        keepAliveMs: services.keepAliveMs,
      });
      return;
    }
    const forget = method === 'DELETE' ? () => origins.forget(id).catch(() => undefined) : () => undefined;
    await relayJson({ reply, response, context, onBody: forget });
  };
}

const notFound = (id: string) =>
  new GatewayError('object_not_found', { path: ['id'], message: `Response with id '${id}' not found.` });

/** The channel that made a response, as the only candidate; null where no model leads there any more. */
function candidateAt({ models }: Configuration, origin: ResponseOrigin): Candidate | null {
  const { model, requestedModel } = origin;
  for (const { routes } of models)
    for (const route of routes) {
      const { channel } = route;
      if (channel.name === origin.channel && channel.speaks.includes('responses'))
        return { channel, route, protocol: 'responses', model, requestedModel };
    }
  return null;
}
