import type { OutgoingHttpHeaders } from 'node:http';
import type { RequestContext } from '@gateway/service-kit/request-context';

type Named = Pick<RequestContext, 'requestId'>;

/** The head of a JSON reply about a background response. */
export const jsonHead = ({ requestId }: Named): OutgoingHttpHeaders => ({
  'content-type': 'application/json',
  'x-request-id': requestId,
  'request-id': requestId,
});

/** The same for its events. */
export const eventStreamHead = (context: Named): OutgoingHttpHeaders => ({
  ...jsonHead(context),
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
});
