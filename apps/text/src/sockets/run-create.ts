import type { IncomingHttpHeaders } from 'node:http';
import { WEBSOCKET } from '@gateway/contracts/endpoints/endpoints';
import type { GatewayError } from '@gateway/contracts/gateway-error';
import { type Identity, INTERNAL_HEADERS } from '@gateway/contracts/identity';
import { TRACEPARENT_HEADER } from '@gateway/contracts/trace/trace-context';
import type { PendingEntry } from '@gateway/metering/limits/request-entry';
import { type Counting, handleCounted } from '@gateway/model-service/counted-request';
import { type CallerAccess, keyEnded } from '@gateway/model-service/sockets/caller-access';
import type { LoadGuard } from '@gateway/service-kit/load/load-guard';
import { openRequest } from '@gateway/service-kit/request/request-context';
import { requestIdOf } from '@gateway/service-kit/request/request-id';
import type { RequestLog } from '@gateway/service-kit/request/request-log';
import type { Tracing } from '@gateway/service-kit/tracing/tracing';
import { openReadCall } from '../call/open-call.ts';
import { describeInThread } from '../call/request/read-text-request.ts';
import { type TextServices, waitingFor } from '../call/request/text-call.ts';
import { RESPONSES } from '../call/request/text-endpoint.ts';
import { describeRequest, type TextRequest } from '../call/request/text-request.ts';
import { inputChecked } from '../endpoints/answer-call.ts';
import { generateReply } from '../endpoints/generate.ts';
import type { Waiting } from '../large/in-thread.ts';
import { objectAt, textAt } from '../wire/json-object.ts';
import type { CreateEvent, Lane } from './client-event.ts';
import type { LaneMemory } from './lane-memory.ts';
import { type EventSink, SocketCaller } from './socket-caller.ts';
import { warmUp } from './warm-up.ts';

/** What the requests of one connection have in common. */
export interface Connection {
  /** The handshake's, for the requests to which it leads. */
  readonly headers: IncomingHttpHeaders;
  readonly connectionId: string;
  /** As the key was when the connection was opened. */
  readonly identity: Identity & { readonly secretHash: string };
  readonly sink: EventSink;
  readonly memory: LaneMemory;
  /** Those that are under way. */
  readonly callers: Set<SocketCaller>;
  /** The key is not valid any more. */
  onKeyEnded(): void;
}

export interface RequestRunner {
  /** Makes a response. Never rejects. */
  run(connection: Connection, event: CreateEvent): Promise<void>;
  /** Answers what is no request, or no request that can be taken. */
  refuse(connection: Connection, lane: Lane, error: GatewayError): void;
}

interface RunnerOptions {
  readonly services: TextServices;
  readonly access: CallerAccess;
  readonly counting: Counting;
  readonly requestLog: RequestLog;
  readonly load: LoadGuard;
  readonly tracing: Tracing | undefined;
  readonly deadline: AbortSignal;
}

const requestOf = (
  { bytes, value }: CreateEvent,
  maxDepth: number,
  waiting: Waiting,
): TextRequest | Promise<TextRequest> =>
  value === null
    ? describeInThread(RESPONSES, bytes, maxDepth, waiting)
    : describeRequest(RESPONSES, bytes, value);

/** The trace that one turn is to be seen in: a connection has headers for all of them only. */
function callersTrace({ value }: CreateEvent): string | undefined {
  const metadata = value && objectAt(value, 'metadata');
  return (metadata && textAt(metadata, TRACEPARENT_HEADER)) ?? undefined;
}

/**
 * Each `response.create` is one request, for limits, reservation, routing, usage, log and metrics: with an id and a
 * context of its own.
 */
export function createRequestRunner({
  services,
  access,
  counting,
  requestLog,
  load: guard,
  tracing,
  deadline,
}: RunnerOptions): RequestRunner {
  const open = (connection: Connection, lane: Lane, identity: Identity, event?: CreateEvent) => {
    const { headers, connectionId, sink, callers } = connection;
    const requestId = requestIdOf(undefined);
    const load = guard.begin(WEBSOCKET, identity);
    const trace = tracing?.linked(headers[INTERNAL_HEADERS.trace], event && callersTrace(event));
    const { context, close } = openRequest(WEBSOCKET.path, { requestId, identity, deadline, load, trace });
    const logEnd = requestLog.begin({ method: 'POST', url: WEBSOCKET.path }, context, WEBSOCKET.path);
    const own = { ...headers, [INTERNAL_HEADERS.requestId]: requestId };
    const caller = new SocketCaller({ headers: own, context, sink, lane });
    callers.add(caller);
    caller.onClosed(() => {
      const { status, hasEnded: isAnswered } = caller;
      callers.delete(caller);
      close(isAnswered);
      logEnd({ status, isAnswered });
    });
    Object.assign(context.line, { transport: 'websocket', connectionId, ...(lane !== null && { lane }) });
    return { caller, identity, context, load };
  };

  const generate = async (
    { caller, context, identity }: ReturnType<typeof open>,
    { memory }: Connection,
    { lane, generates }: CreateEvent,
    { request, entry }: { readonly request: TextRequest; readonly entry: PendingEntry | undefined },
  ): Promise<void> => {
    const startedAt = performance.now();
    // A warm-up reserves nothing that it could be counted with.
    if (!generates) await entry?.countAlone();
    const from = { caller, entry, identity, context, memory: memory.of(lane) };
    const call = await openReadCall({ ...from, endpoint: RESPONSES, services, request, startedAt });
    await (generates ? generateReply(call) : warmUp(await inputChecked(call)));
  };

  return {
    run: async (connection, event) => {
      const { identity: opener } = connection;
      let identity: Identity | undefined;
      try {
        identity = await access.identify(opener.secretHash);
      } catch (error) {
        return open(connection, event.lane, opener).caller.fail(error);
      }
      const opened = open(connection, event.lane, identity ?? opener, event);
      const { caller, context, load } = opened;
      if (identity === undefined) {
        caller.fail(keyEnded());
        return connection.onKeyEnded();
      }
      let previousId: string | undefined;
      let pending: PendingEntry | undefined;
      try {
        load.admit(event.bytes.length);
        access.permit(identity);
        const counted = { endpoint: WEBSOCKET, caller, identity, context, delivery: null };
        await handleCounted(counting, counted, async (entry) => {
          pending = entry;
          const request = await requestOf(event, services.maxJsonDepth, waitingFor({ identity, context }));
          previousId = request.ids.find(({ path }) => path[0] === 'previous_response_id')?.id;
          await generate(opened, connection, event, { request, entry });
        });
      } catch (error) {
        caller.fail(error);
      }
      // What a limit did not let in can be sent again as it is.
      const isRefused = pending?.isRefused === true;
      if (context.failure !== undefined && previousId !== undefined && !isRefused)
        connection.memory.forget(event.lane, previousId);
      // Nothing may be left that nobody ends.
      caller.breakOff();
    },
    refuse: (connection, lane, error) => {
      open(connection, lane, connection.identity).caller.fail(error);
    },
  };
}
