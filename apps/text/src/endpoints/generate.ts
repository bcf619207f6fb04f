import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { contextOf, identityOf } from '@gateway/service-kit/request-context';
import type { Candidate } from '@gateway/upstream/catalog';
import { modelFor } from '@gateway/upstream/model-for';
import type { Reply } from '@gateway/upstream/reply';
import type { RequestHandler } from 'express';
import type { Carrier } from '../call/adapter.ts';
import { settleOrKeep } from '../call/await-end.ts';
import { chooseCandidates } from '../call/choose-candidates.ts';
import { beginMetering } from '../call/metered-call.ts';
import { pinCandidates } from '../call/pin-candidates.ts';
import { sendFor } from '../call/send-for.ts';
import { newTally } from '../call/tally.ts';
import type { TextCall, TextServices } from '../call/text-call.ts';
import type { TextEndpoint } from '../call/text-endpoint.ts';
import { readTextRequest } from '../call/text-request.ts';
import { judgeWhole } from '../passthrough/relay-json.ts';
import { carriersOf } from './carriers-of.ts';

/** Handles an endpoint that has a model generate: `POST /v1/responses`, `/v1/messages`, `/v1/chat/completions`. */
export function createGenerateHandler(endpoint: TextEndpoint, services: TextServices): RequestHandler {
  return async (message, response) => {
    const call = await openCall(endpoint, services, message, response);
    const candidates = await candidatesFor(call);
    const metered = await beginMetering(call);
    const thrown = await answer(call, candidates).then(
      () => undefined,
      (error: unknown) => error,
    );
    void settleOrKeep(call, metered, thrown);
    if (thrown !== undefined) throw thrown;
  };
}

async function answer(call: TextCall, candidates: readonly Candidate[]): Promise<void> {
  const carrierOf = carriersOf(call);
  const reply = await sendCall(call, candidates, carrierOf);
  await carrierOf(reply.candidate).relay(reply);
}

/** Reads and checks a request for a model. */
export async function openCall(
  endpoint: TextEndpoint,
  services: TextServices,
  message: IncomingMessage,
  response: ServerResponse,
): Promise<TextCall> {
  const startedAt = performance.now();
  const context = contextOf(message);
  const identity = identityOf(message);
  const request = await readTextRequest(endpoint, message, services);
  context.line.model = request.model;
  context.line.stream = request.streamed;
  const protocols = [endpoint.protocol, ...endpoint.translatedTo];
  const model = modelFor(services.upstream, { name: request.model, protocols, identity });
  const tally = newTally();
  return { services, endpoint, identity, context, message, response, request, model, tally, startedAt };
}

/** Asks one candidate after the other, each in its own protocol. A refusal is told in the caller's. */
export async function sendCall(
  call: TextCall,
  candidates: readonly Candidate[],
  carrierOf: (candidate: Candidate) => Carrier,
): Promise<Reply> {
  const { context, services, endpoint, request, tally } = call;
  const asked: Candidate[] = [];
  try {
    const reply = await sendFor(context, services.upstream, {
      candidates,
      request: (candidate) => {
        const made = carrierOf(candidate).request(candidate);
        if (!(made instanceof GatewayError)) asked.push(candidate);
        return made;
      },
      dialect: endpoint.dialect,
      streamed: request.streamed,
      ...(request.streamed ? {} : { judge: judgeWhole }),
    });
    tally.channel = reply.candidate.channel.name;
    tally.attempts = reply.attempts.length;
    return reply;
  } catch (error) {
    const last = asked.at(-1);
    if (last !== undefined && carrierOf(last).learn?.(error)) return sendCall(call, [last], carrierOf);
    throw explained(error, last, carrierOf);
  }
}

/** A refusal is the last candidate's that was asked: after it no other is tried. */
function explained(
  error: unknown,
  asked: Candidate | undefined,
  carrierOf: (candidate: Candidate) => Carrier,
): unknown {
  if (asked === undefined || !(error instanceof GatewayError)) return error;
  return carrierOf(asked).explain?.(error, asked) ?? error;
}

/** Channels for a call; one that names what an earlier reply brought can only go where that was made. */
export function candidatesFor(call: TextCall): Promise<readonly Candidate[]> {
  const { services, endpoint, request, model } = call;
  const candidates = chooseCandidates(services.upstream, model, endpoint, request.builtInTools);
  return pinCandidates(call, candidates);
}
