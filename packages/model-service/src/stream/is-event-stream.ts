import type { IncomingHttpHeaders } from 'node:http';

/** Whether a reply calls itself an event stream. */
export const isEventStream = (headers: IncomingHttpHeaders): boolean =>
  headers['content-type']?.startsWith('text/event-stream') ?? false;
