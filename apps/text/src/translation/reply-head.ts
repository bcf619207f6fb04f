import type { OutgoingHttpHeaders } from 'node:http';
import type { RequestContext } from '@gateway/service-kit/request-context';
import type { Reply } from '@gateway/upstream/reply';

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
