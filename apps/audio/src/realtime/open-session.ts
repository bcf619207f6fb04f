import type { IncomingHttpHeaders } from 'node:http';
import { REALTIME } from '@gateway/contracts/endpoints/endpoints';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { isObject, type JsonObject, jsonIn } from '@gateway/contracts/json/json-object';
import { NOTHING_CONSUMED } from '@gateway/contracts/usage/usage-record';
import { mustBeChecked } from '@gateway/hooks/open-hooks';
import type { ClientSecrets } from '@gateway/metering/keys/client-secret';
import type { PendingEntry } from '@gateway/metering/limits/request-entry';
import { estimateOf } from '@gateway/metering/meter/estimate';
import { reserveRequest } from '@gateway/model-service/metered-request';
import { keyEnded } from '@gateway/model-service/sockets/caller-access';
import type { SocketArrival } from '@gateway/service-kit/request/handshake';
import { openRequest } from '@gateway/service-kit/request/request-context';
import type { ResolvedModel } from '@gateway/upstream/catalog';
import { modelFor } from '@gateway/upstream/model-for';
import type { UpstreamSocket } from '@gateway/upstream/sockets/open-socket';
import { readEvent } from './read-event.ts';
import type { AccountingServices } from './response-accounts.ts';

export interface OpeningServices extends AccountingServices {
  readonly clientSecrets: ClientSecrets;
  readonly maxEventBytes: number;
}

/** What a handshake requests. */
interface WantedSession {
  readonly model: string;
  /** Of its client secret; null: it came with a key. */
  readonly settings: JsonObject | null;
}

/** A session that a provider has begun. */
export interface OpenedSession {
  readonly model: ResolvedModel;
  readonly socket: UpstreamSocket;
  readonly settings: JsonObject | null;
  /** Frees what it counts on its key's limits. */
  release(): void;
}

interface Opening {
  /** Its path and query. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly arrival: SocketArrival;
  readonly signal: AbortSignal;
}

/** Query parameters that lead elsewhere at OpenAI. */
const NOT_OFFERED: Readonly<Record<string, string>> = {
  call_id: 'Calls over WebRTC and SIP are not offered.',
  intent: "Sessions for transcripts alone are not offered. Name a realtime model with 'model'.",
};

/** @throws {GatewayError} */
function wantedBy({ url, arrival }: Opening, { clientSecrets }: OpeningServices): WantedSession {
  const query = new URL(url, 'http://gateway').searchParams;
  for (const [name, message] of Object.entries(NOT_OFFERED))
    if (query.has(name)) throw new GatewayError('unsupported_parameter', { path: [name], message });
  const { clientSecret } = arrival.identity;
  const named = query.get('model');
  if (clientSecret === undefined) {
    if (named === null || named === '')
      throw new GatewayError('missing_required_parameter', {
        path: ['model'],
        message: `Name the model in the address: ${REALTIME.path}?model=MODEL.`,
      });
    return { model: named, settings: null };
  }
  const secret = clientSecrets.open(clientSecret);
  if (secret === undefined) throw keyEnded();
  if (named !== null && named !== secret.model)
    throw new GatewayError('unsupported_value', {
      path: ['model'],
      message: `This client secret is for the model '${secret.model}'. Name that one, or none.`,
    });
  return { model: secret.model, settings: secret.session };
}

/**
 * Lets a session in, and has a provider begin it: until then another channel may.
 *
 * @throws {GatewayError} where it may not be, or no channel begins it
 */
export async function openSession(services: OpeningServices, opening: Opening): Promise<OpenedSession> {
  const { upstream, counting, meter, now, maxEventBytes, deadline } = services;
  const { headers, arrival, signal } = opening;
  const { identity, requestId } = arrival;
  const wanted = wantedBy(opening, services);
  const model = modelFor(upstream, { name: wanted.model, protocols: ['realtime'], identity });
  if (mustBeChecked(upstream.configuration.hooks, identity, model.name)) throw notChecked();
  // A caller who does not want to be logged, and may not choose, gets no session.
  (await services.contentLog.begin({ identity, model: model.name, headers, requestId }))?.cancel();
  const { context, close } = openRequest(REALTIME.path, { requestId, identity, deadline });
  let entry: PendingEntry | undefined;
  try {
    entry = counting.entry.open(identity, context.dialect, {
      delivery: null,
      onEntered: ({ refusal }) => {
        if (refusal !== null) counting.refusals.add(refusal.reason, identity, REALTIME);
      },
    });
    // A key whose budget is spent gets no session, and one whose is not has nothing reserved for an idle one.
    const reserved = await reserveRequest(
      { meter, now },
      {
        ...{ endpoint: 'realtime', model: model.name, estimate: estimateOf(model.price, SMALLEST) },
        ...{ caller: { note: () => undefined, headers }, identity, context, entry },
      },
    );
    await reserved.release();
    const socket = await upstream.openSocket({
      candidates: upstream.candidates({ model, protocol: 'realtime' }),
      query: (candidate) => `model=${encodeURIComponent(candidate.model)}`,
      headers,
      dialect: context.dialect,
      maxMessageBytes: maxEventBytes,
      readFirst,
      signal,
    });
    return { model, socket, settings: wanted.settings, release: () => entry?.release() };
  } catch (error) {
    entry?.release();
    throw error;
  } finally {
    close(true);
  }
}

const notChecked = (): GatewayError =>
  new GatewayError('unsupported_model', {
    path: ['model'],
    message: 'Hooks check what your key sends to this model, and they cannot check realtime sessions.',
  });

const SMALLEST = { ...NOTHING_CONSUMED, inputTokens: 1, outputTokens: 1 };

const [CLIENT_ERROR, SERVER_ERROR, TOO_MANY] = [400, 500, 429];

/** A provider that does not begin a session says why in an event. */
function readFirst(
  message: Buffer,
): 'session' | { status: number; headers: IncomingHttpHeaders; body: string } {
  const type = readEvent(message)?.type;
  if (type === 'session.created') return 'session';
  const event = jsonIn(message.toString());
  const error = isObject(event) && isObject(event.error) ? event.error : {};
  const isLimit = String(error.code).includes('rate_limit') || String(error.type).includes('rate_limit');
  const isFault = type !== 'error' || error.type === 'server_error';
  const status = isLimit ? TOO_MANY : isFault ? SERVER_ERROR : CLIENT_ERROR;
  return { status, headers: {}, body: JSON.stringify({ error }) };
}
