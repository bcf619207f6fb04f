import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import type { RequestContext } from '@gateway/service-kit/request/request-context';
import type { Reply } from '@gateway/upstream/replies/reply';
import type { RequestHeaders } from '@gateway/upstream/requests/request-headers';
import { jsonHead } from '../call/attempts/reply-head.ts';

/** The head of a translated reply. Nothing of the upstream's headers is in it: they are of another protocol. */
export const translatedHead = (
  reply: Reply,
  context: Pick<RequestContext, 'requestId'>,
): OutgoingHttpHeaders => ({
  ...jsonHead(context),
  'x-gateway-channel': reply.candidate.channel.name,
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
