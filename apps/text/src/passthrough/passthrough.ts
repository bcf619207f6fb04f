import type { Reply } from '@gateway/upstream/reply';
import {
  noteEstimatedUsage,
  noteFirstByte,
  noteLosses,
  noteReportedFailure,
  noteUsage,
} from '../call-notes.ts';
import { type Carrier, unlessRefused } from '../carrier.ts';
import { textAt } from '../json-object.ts';
import { type Dropped, refuseLosses } from '../protocols/conversation/losses.ts';
import { queryOf } from '../query-of.ts';
import type { StreamWatch } from '../sse/stream-watch.ts';
import type { TextCall } from '../text-call.ts';
import { isStrict } from '../translation/is-strict.ts';
import { estimatedUsage } from '../usage.ts';
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
            return rememberOrigin(call, reply, textAt(whole, 'id'));
          },
        });
        noteFirstByte(call, reply);
        return;
      }
      const watch = endpoint.createWatch();
      try {
        await relayStream({
          reply,
          response,
          context,
          watch,
          keepAliveMs: call.services.keepAliveMs,
          onId: (id) => rememberOrigin(call, reply, id),
          onFirstByte: () => noteFirstByte(call, reply),
        });
      } finally {
        noteStreamUsage(call, reply, watch);
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

/** Before the caller learns the id of a stored response, it can be found. Without Redis the answer still goes out. */
function rememberOrigin(call: TextCall, reply: Reply, id: string | null): Promise<void> | undefined {
  const { endpoint, request, services, identity, context } = call;
  if (endpoint.protocol !== 'responses' || !request.stored || id === null) return undefined;
  const { channel, model, requestedModel } = reply.candidate;
  context.line.responseId = id;
  return services.origins
    .remember(id, { keyId: identity.keyId, channel: channel.name, model, requestedModel })
    .catch(() => {
      context.line.responseKept = false;
    });
}
