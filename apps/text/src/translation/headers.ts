import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import type { RequestContext } from '@gateway/service-kit/request-context';
import type { Reply } from '@gateway/upstream/reply';
import type { RequestHeaders } from '@gateway/upstream/request-headers';

/** The head of a translated reply. Nothing of the upstream's headers is in it: they are of another protocol. */
export const translatedHead = (
  reply: Reply,
  { requestId }: Pick<RequestContext, 'requestId'>,
): OutgoingHttpHeaders => ({
  'content-type': 'application/json',
  'x-request-id': requestId,
  'request-id': requestId,
  'x-gateway-channel': reply.candidate.channel.name,
});

/** The same for an event stream. */
export const streamHead = (head: OutgoingHttpHeaders): OutgoingHttpHeaders => ({
  ...head,
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
});

/** What of a caller's headers means the same under every protocol. */
const SHARED = ['user-agent', 'traceparent', 'tracestate'] as const;

/** The headers of a translated request. The caller's own belong to another protocol, and so do its features. */
export function translatedHeaders(callers: IncomingHttpHeaders, streamed: boolean): RequestHeaders {
  const headers: Record<string, string | string[] | undefined> = {
    'content-type': 'application/json',
    accept: streamed ? 'text/event-stream' : 'application/json',
  };
  for (const name of SHARED) if (callers[name] !== undefined) headers[name] = callers[name];
  return headers;
}
