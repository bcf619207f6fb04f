import type { IncomingMessage } from 'node:http';
import type { PendingEntry } from '@gateway/metering/limits/request-entry';
import type { Caller } from '@gateway/model-service/caller';
import { contextOf, identityOf } from '@gateway/service-kit/request/request-context';
import type { Candidate } from '@gateway/upstream/candidate';
import type { Route } from '@gateway/upstream/configuration/configuration';
import { modelFor } from '@gateway/upstream/model-for';
import { traceRequest } from '../metering/call-trace.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';
import { affinityOf } from './candidates/affinity.ts';
import { chooseCandidates } from './candidates/choose-candidates.ts';
import { pinCandidates } from './candidates/pin-candidates.ts';
import { findHistory } from './history/find-history.ts';
import type { Address } from './request/address.ts';
import { type Purpose, turnIn } from './request/history.ts';
import { readTextRequest } from './request/read-text-request.ts';
import {
  type HeldCall,
  NOTHING_HELD,
  type OpenedCall,
  type TextServices,
  waitingFor,
} from './request/text-call.ts';
import type { TextEndpoint } from './request/text-endpoint.ts';

/** Reads and checks a request for a model. */
export async function openCall(
  endpoint: TextEndpoint,
  services: TextServices,
  incoming: IncomingMessage,
  {
    caller,
    entry,
    address,
  }: {
    readonly caller: Caller;
    readonly entry?: PendingEntry | undefined;
    readonly address?: Address | undefined;
  },
): Promise<OpenedCall> {
  const startedAt = performance.now();
  const from = { caller, entry, identity: identityOf(incoming), context: contextOf(incoming) };
  const request = await readTextRequest(endpoint, incoming, services, waitingFor(from), address);
  return openReadCall({ ...from, endpoint, services, request, startedAt });
}

type ReadRequest = Omit<OpenedCall, 'model' | 'history'>;

/** The same for a request that has been read. */
export async function openReadCall(read: ReadRequest): Promise<OpenedCall> {
  const { endpoint, services, identity, context, request } = read;
  context.line.model = request.model;
  context.line.stream = request.streamed;
  traceRequest(context, request.content);
  const protocols = [endpoint.passedTo, ...endpoint.translatedTo];
  const model = modelFor(services.upstream, { name: request.model, protocols, identity });
  if (request.ownValue !== null && !model.routes.some((route) => takesOwnValues(route, endpoint.protocol)))
    throw request.ownValue;
  const history = await findHistory(read);
  return { ...read, model, history };
}

/**
 * A call that has what it continues for itself. Most continue nothing, or what others may continue at the same time.
 *
 * @throws {GatewayError} where another request has it, or it cannot be continued
 */
export function holdCall(call: OpenedCall, purpose: Purpose): HeldCall | Promise<HeldCall> {
  const { history } = call;
  const free = { ...call, ...NOTHING_HELD };
  if (history.continued?.claim === undefined) return free;
  return history.continued
    .claim(purpose)
    .then((claimed) =>
      claimed === null ? { ...free, history: { ...history, continued: null } } : { ...free, ...claimed },
    );
}

/** Channels for a call; one that names what an earlier reply brought goes where that is known. */
export function candidatesFor(call: OpenedCall): readonly Candidate[] {
  const { services, endpoint, request, model, history } = call;
  const affinity = () => affinityOf(call);
  const candidates = chooseCandidates(services.upstream, model, endpoint, request.builtInTools, affinity);
  // A value that only some servers know may be translated, but does not go to one that would refuse it.
  const taking =
    request.ownValue === null
      ? candidates
      : candidates.filter(({ protocol, route }) => protocol !== endpoint.protocol || route.quirks.ownValues);
  const pinned = pinCandidates(call, taking);
  return turnIn(history)?.ordered(pinned) ?? pinned;
}

/** Whether a route's server speaks a protocol itself, with values that only its maker documents. */
const takesOwnValues = ({ speaks, quirks }: Route, protocol: TextProtocol): boolean =>
  quirks.ownValues && speaks.includes(protocol);
