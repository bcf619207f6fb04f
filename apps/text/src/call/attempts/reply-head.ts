import type { OutgoingHttpHeaders } from 'node:http';
import type { RequestContext } from '@gateway/service-kit/request/request-context';

type Identified = Pick<RequestContext, 'requestId'>;

/** Events are sent as they come: no cache stores them, and no proxy buffers them. */
export const UNBUFFERED = { 'cache-control': 'no-cache', 'x-accel-buffering': 'no' } as const;

/** The head of a JSON reply that the gateway writes itself. */
export const jsonHead = ({ requestId }: Identified): OutgoingHttpHeaders => ({
  'content-type': 'application/json',
  'x-request-id': requestId,
  'request-id': requestId,
});

/** The head of an event stream whose other headers are those of a JSON reply. */
export const streamHead = (head: OutgoingHttpHeaders): OutgoingHttpHeaders => ({
  ...head,
  'content-type': 'text/event-stream; charset=utf-8',
  ...UNBUFFERED,
});

/** The head of an event stream that the gateway writes itself. */
export const eventStreamHead = (context: Identified): OutgoingHttpHeaders => streamHead(jsonHead(context));
