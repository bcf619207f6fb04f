import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ParsedUrlQuery, parse } from 'node:querystring';

/** The values of the `{…}` of an endpoint's path. */
export type PathParams = Readonly<Record<string, string>>;

/** Handles a request for an endpoint. What it throws or rejects with becomes the reply. */
export type Handler = (request: IncomingMessage, response: ServerResponse, params: PathParams) => unknown;

/** A request's query; a name that comes more than once has a list. */
export function parsedQuery({ url = '' }: Pick<IncomingMessage, 'url'>): ParsedUrlQuery {
  const mark = url.indexOf('?');
  return parse(mark < 0 ? '' : url.slice(mark + 1));
}

/** Answers with JSON, which may have been written, beside the headers that have been set. */
export function sendJson(response: ServerResponse, body: unknown): void {
  const text = Buffer.isBuffer(body) ? body : JSON.stringify(body);
  response.setHeader('content-type', 'application/json; charset=utf-8');
  response.setHeader('content-length', Buffer.byteLength(text));
  response.end(text);
}
