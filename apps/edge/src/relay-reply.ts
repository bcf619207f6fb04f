import type { IncomingMessage } from 'node:http';
import { discardRest } from '@gateway/service-kit/discard-rest';
import type { Forwarding } from './forwarding.ts';
import { responseHeaders } from './response-headers.ts';

/** Passes a service's reply on to the caller, chunk by chunk as it comes, at the caller's pace. */
export function relayReply(reply: IncomingMessage, forwarding: Forwarding): void {
  const { request, response, context } = forwarding;
  const headers = responseHeaders(reply, response, context.requestId);
  response.writeHead(reply.statusCode ?? 502, reply.statusMessage, headers);
  // A reply of unknown length may be a stream whose first event is yet to come.
  if (reply.headers['content-length'] === undefined) response.flushHeaders();
  const resume = () => reply.resume();
  reply.on('data', (chunk: Buffer) => {
    if (response.write(chunk)) return;
    reply.pause();
    response.once('drain', resume);
  });
  reply.once('end', () => {
    response.end();
    if (!request.complete) discardRest(request);
  });
}
