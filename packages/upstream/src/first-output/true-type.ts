import type { IncomingHttpHeaders } from 'node:http';
import { isJsonLines } from './json-lines.ts';

const EVENTS = 'text/event-stream';
/** Types under which servers are seen to send events: JSON, plain text, bytes of any kind, and none. */
const MAY_BE_EVENTS =
  /^(?:$|text\/|application\/(?:json|octet-stream|(?:x-)?ndjson|(?:x-)?json-?l|stream\+json|event-stream))/;
/** Types of lists of JSON objects, each on a line of its own. */
const LINES = /^application\/(?:(?:x-)?ndjson|(?:x-)?json-?l(?:ines)?|stream\+json)\b/;
/** What the first object of a stream has, and no whole answer does. */
const OF_A_STREAM =
  /"delta"\s*:|"object"\s*:\s*"chat\.completion\.chunk"|"type"\s*:\s*"(?:message_start|ping|response\.|speech\.audio\.|transcript\.text\.|image_(?:generation|edit)\.)/;
const PAGE = 'text/html';
const LOOKED_AT_BYTES = 512;
const BEFORE_CONTENT = /^(?:\u00ef\u00bb\u00bf)?\s*/;
/** A line of an event stream that begins no JSON, no text that a model wrote, and no sound. */
const EVENT_LINE =
  /^(?::[\x20-\x7e]*[\r\n]|event: ?[\w.-]+[\r\n]|data: *(?:\{|\[DONE\])|id: ?[\w.-]*(?:\r\n|[\r\n])(?:event|data):|retry: ?\d+[\r\n])/;
/** With what such a line begins. */
const FIELDS = [':', 'data:', 'event:', 'id:', 'retry:'] as const;
const HALF_A_MARK = /^\u00ef\u00bb?$/;

/**
 * A reply's headers with the type that its content has: servers and proxies call events JSON or plain text, an error in JSON
 * an event stream, and an answer in JSON a page. Everything that follows reads this type alone.
 *
 * @param bytes what has arrived
 * @param streamed whether a stream was requested: then lines of JSON are one whatever they hold
 * @returns null: more has to arrive
 */
export function trulyTyped(
  headers: IncomingHttpHeaders,
  bytes: Buffer,
  ended: boolean,
  streamed = false,
): IncomingHttpHeaders | null {
  const type = (headers['content-type'] ?? '').trim().toLowerCase();
  const isClaimed = type.startsWith(EVENTS);
  if (!isClaimed && !MAY_BE_EVENTS.test(type)) return headers;
  const start = bytes.toString('latin1', 0, LOOKED_AT_BYTES);
  const text = start.replace(BEFORE_CONTENT, '');
  if (text === '' || HALF_A_MARK.test(start)) return ended ? headers : null;
  if (text.startsWith('{') && (isClaimed || streamed || LINES.test(type) || OF_A_STREAM.test(text))) {
    const isLines = isJsonLines(bytes.toString().replace(/^\ufeff?\s*/, ''), ended);
    if (isLines === 'wait') return null;
    if (isLines) return asEvents(headers);
  }
  if (isClaimed) {
    if (text.startsWith('{')) return typed(headers, 'application/json');
    if (text.startsWith('<')) return typed(headers, PAGE);
    return type === headers['content-type'] ? headers : typed(headers, type);
  }
  if (EVENT_LINE.test(text)) return asEvents(headers);
  if (text.startsWith('{') && (type.startsWith(PAGE) || LINES.test(type)))
    return typed(headers, 'application/json');
  return !ended && text.length < LOOKED_AT_BYTES && mayBecomeEvents(text) ? null : headers;
}

const mayBecomeEvents = (text: string): boolean =>
  !/[\r\n]./.test(text) && FIELDS.some((field) => field.startsWith(text) || text.startsWith(field));

/** Headers of a reply whose bytes are read as an event stream of text. */
export const asEvents = (headers: IncomingHttpHeaders): IncomingHttpHeaders =>
  typed(headers, `${EVENTS}; charset=utf-8`);

const typed = (headers: IncomingHttpHeaders, type: string): IncomingHttpHeaders => ({
  ...headers,
  'content-type': type,
});
