import type { Reply } from '@gateway/upstream/reply';
import { awaitEnd } from '../background/await-end.ts';
import { isPending } from '../background/ending.ts';
import {
  noteEstimatedUsage,
  noteFirstByte,
  noteLosses,
  noteReportedFailure,
  noteUsage,
} from '../call-notes.ts';
import { type Carrier, unlessRefused } from '../carrier.ts';
import { type JsonObject, textAt } from '../json-object.ts';
import { type Dropped, refuseLosses } from '../protocols/conversation/losses.ts';
import { queryOf } from '../query-of.ts';
import type { StreamWatch } from '../sse/stream-watch.ts';
import type { ProviderId } from '../stored/id-origins.ts';
import { type Kept, receivedIds, replyWithin } from '../stored/received-ids.ts';
import type { TextCall } from '../text-call.ts';
import { isStrict } from '../translation/is-strict.ts';
import { estimatedUsage } from '../usage.ts';
import { observed } from './observed-watch.ts';
import { ownBody } from './own-body.ts';
import { isEventStream, relayJson } from './relay-json.ts';
import { relayStream } from './relay-stream.ts';
import { upstreamRequestHeaders } from './upstream-request-headers.ts';

/** Carries a call to a channel of its own protocol: nothing is rewritten but what `ownBody` says. */
export function createPassthrough(call: TextCall): Carrier {
  const { endpoint, message, response, context } = call;
  let dropped: readonly Dropped[] = [];
  return {
    request: (candidate) =>
      unlessRefused(() => {
        const own = ownBody(call, candidate);
        if (isStrict(message)) refuseLosses(own.dropped);
        dropped = own.dropped;
        return {
          operation: endpoint.operation,
          method: 'POST',
          query: queryOf(message),
          headers: upstreamRequestHeaders(endpoint, message),
          body: own.body,
        };
      }),
    relay: async (reply) => {
      noteLosses(call, endpoint.protocol, dropped);
      if (!isEventStream(reply.headers['content-type'])) {
        await relayJson({
          reply,
          response,
          context,
          onBody: (whole) => {
            noteUsage(call, reply, endpoint.usageOf(whole));
            if (whole.status === 'failed') noteReportedFailure(call, 'failed');
            return noteWhole(call, reply, whole);
          },
        });
        noteFirstByte(call, reply);
        return;
      }
      const watch = endpoint.createWatch();
      const onEvent = (data: string) => {
        const within = replyWithin(endpoint.protocol, data);
        if (within !== null)
          void rememberIds(call, reply, receivedIds(endpoint.protocol, within, keptOf(call)));
      };
      try {
        await relayStream({
          reply,
          response,
          context,
          watch: observed(watch, onEvent),
          keepAliveMs: call.services.keepAliveMs,
          onId: (id) => noteStreamId(call, reply, id),
          onFirstByte: () => noteFirstByte(call, reply),
        });
      } finally {
        noteStreamEnd(call, reply, watch);
      }
      if (watch.reportedFailure !== null) noteReportedFailure(call, watch.reportedFailure);
    },
  };
}

function noteStreamUsage(call: TextCall, reply: Reply, watch: StreamWatch): void {
  const { usage, ended, reportedFailure, outputLength } = watch;
  // What a stream says before its error event is not its final count.
  if (usage !== null && ended && reportedFailure === null) noteUsage(call, reply, usage);
  else {
    const lengths = { inputLength: call.request.bytes.length, outputLength };
    noteEstimatedUsage(call, reply, estimatedUsage(usage, lengths));
  }
}

/** A background response whose stream has stopped before its end goes on; what it used comes later. */
function noteStreamEnd(call: TextCall, reply: Reply, watch: StreamWatch): void {
  const { tally, services, context } = call;
  if (tally.pending !== null) {
    if (!watch.ended) return;
    services.background.forget(tally.pending).catch(() => undefined);
    tally.pending = null;
    context.line.usagePending = undefined;
  }
  noteStreamUsage(call, reply, watch);
}

/** Before the caller learns an id, it can be found. */
function noteWhole(call: TextCall, reply: Reply, whole: JsonObject): Promise<unknown> | undefined {
  const { protocol } = call.endpoint;
  const id = textAt(whole, 'id');
  const remembering = rememberIds(call, reply, receivedIds(protocol, whole, keptOf(call)));
  if (protocol !== 'responses' || id === null || !isPending(whole)) return remembering;
  return Promise.all([remembering, awaitEnd(call, reply, id)]);
}

function noteStreamId(call: TextCall, reply: Reply, id: string): Promise<unknown> | undefined {
  const { protocol } = call.endpoint;
  // Nothing else is known of it yet.
  const remembering = rememberIds(call, reply, receivedIds(protocol, { id }, keptOf(call)));
  return call.request.background ? Promise.all([remembering, awaitEnd(call, reply, id)]) : remembering;
}

const keptOf = ({ request }: TextCall): Kept => ({
  responses: request.stored,
  messages: request.keepsMessage,
});

/** Without Redis the answer still goes out. */
function rememberIds(call: TextCall, reply: Reply, ids: readonly ProviderId[]): Promise<void> | undefined {
  const { services, identity, context } = call;
  if (ids.length === 0) return undefined;
  const { channel, model, requestedModel } = reply.candidate;
  const response = ids.find(({ kind }) => kind === 'response');
  if (response !== undefined) context.line.responseId = response.id;
  return services.origins
    .remember(ids, { keyId: identity.keyId, channel: channel.name, model, requestedModel })
    .catch(() => {
      context.line.responseKept = false;
    });
}
