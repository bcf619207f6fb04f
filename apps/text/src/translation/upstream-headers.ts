import type { IncomingHttpHeaders } from 'node:http';
import type { RequestHeaders } from '@gateway/upstream/request-headers';

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
