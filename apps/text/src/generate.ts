import { GatewayError } from '@gateway/contracts/gateway-error';
import { CallerLeft, contextOf, identityOf, type RequestContext } from '@gateway/service-kit/request-context';
import type { Candidate } from '@gateway/upstream/catalog';
import { modelFor } from '@gateway/upstream/model-for';
import type { Reply } from '@gateway/upstream/reply';
import type { SendOptions } from '@gateway/upstream/send';
import type { Upstream } from '@gateway/upstream/upstream';
import type { RequestHandler } from 'express';
import { attemptNotes, noteReply } from './call-notes.ts';
import { carrierFor } from './carrier.ts';
import { chooseCandidates } from './choose-candidates.ts';
import { judgeWhole } from './passthrough/relay-json.ts';
import { shuttingDown } from './shutting-down.ts';
import type { TextCall, TextServices } from './text-call.ts';
import type { TextEndpoint } from './text-endpoint.ts';
import { readTextRequest } from './text-request.ts';

/** Handles an endpoint that takes a conversation for a model: `POST /v1/responses`, `POST /v1/messages`, counting tokens. */
export function createGenerateHandler(endpoint: TextEndpoint, services: TextServices): RequestHandler {
  return async (message, response) => {
    const startedAt = performance.now();
    const context = contextOf(message);
    const identity = identityOf(message);
    const request = await readTextRequest(endpoint, message, services.maxBodyBytes);
    context.line.model = request.model;
    context.line.stream = request.streamed;

    const call = { services, endpoint, identity, context, message, response, request, startedAt };
    const candidates = await candidatesFor(call);
    const reply = await sendFor(context, services.upstream, {
      candidates,
      request: (candidate) => carrierFor(candidate, call).request(candidate),
      dialect: endpoint.dialect,
      streamed: request.streamed,
      ...(request.streamed ? {} : { judge: judgeWhole }),
    });
    await carrierFor(reply.candidate, call).relay(reply);
  };
}

/** Channels for a call; one that continues an earlier response can only go where that response was made. */
async function candidatesFor(call: TextCall): Promise<readonly Candidate[]> {
  const { services, endpoint, identity, request } = call;
  const { upstream, origins } = services;
  const model = modelFor(upstream, { name: request.model, protocols: endpoint.servedBy, identity });
  const candidates = chooseCandidates(upstream, model, endpoint, request.builtInTools);
  const previous = request.previousResponseId;
  if (previous === null) return candidates;
  const origin = await origins.find(previous, identity.keyId);
  const pinned = candidates.filter(({ channel }) => channel.name === origin?.channel);
  if (pinned.length > 0) return pinned;
  throw new GatewayError('previous_response_not_found', {
    path: ['previous_response_id'],
    message: `Previous response with id '${previous}' not found.`,
  });
}

/** Sends under a request's signal, and notes on its log line how that went. */
export async function sendFor(
  context: RequestContext,
  upstream: Pick<Upstream, 'send'>,
  options: Omit<SendOptions, 'work' | 'signal' | 'onAttempt'>,
): Promise<Reply> {
  const { signal } = context;
  try {
    const reply = await upstream.send({ ...options, work: 'free', signal, onAttempt: attemptNotes(context) });
    noteReply(context, reply);
    return reply;
  } catch (error) {
    throw signal.aborted && !(signal.reason instanceof CallerLeft) ? shuttingDown() : error;
  }
}
