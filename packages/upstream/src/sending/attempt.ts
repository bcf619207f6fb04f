import { Readable } from 'node:stream';
import type { Candidate } from '../candidate.ts';
import type { Channel } from '../configuration/configuration.ts';
import { callLibrary } from '../libraries/call-library.ts';
import { upstreamHeaders } from '../requests/request-headers.ts';
import type { StreamedBody, UpstreamRequest } from '../requests/upstream-request.ts';
import { Exchange } from './exchange.ts';
import type { ExchangeOptions } from './exchange-options.ts';

export interface AttemptOptions extends Omit<ExchangeOptions, 'namesObject' | 'translated'> {
  readonly request: UpstreamRequest;
}

/** Sends the request to one channel. @throws for internal errors, before anything has begun */
export function attempt({ request, ...options }: AttemptOptions): Exchange {
  const { candidate, client } = options;
  const { library } = candidate.channel;
  const sent = library === null ? httpRequest(candidate, request) : null;
  const exchange = new Exchange({
    ...options,
    namesObject: request.subpath !== undefined,
    translated: request.translated ?? false,
  });
  client.begin();
  if (sent !== null) {
    if (sent.body instanceof Readable) sent.body.once('error', (error) => exchange.abandon(error));
    client.dispatch(sent, exchange);
  } else if (library !== null) void callLibrary({ candidate, client, request, library }, exchange);
  return exchange;
}

function httpRequest({ channel, account }: Candidate, request: UpstreamRequest) {
  const { method, body = null } = request;
  const path = pathOf(channel, request);
  const length = isStreamed(body) ? body.sizeBytes : null;
  const headers = upstreamHeaders(account, request.headers, request.operation, length);
  return { path, method, headers, body: isStreamed(body) ? body.open() : body };
}

const pathOf = (channel: Channel, { operation, subpath, query }: UpstreamRequest): string => {
  const path = channel.paths[operation];
  if (path === undefined) throw new Error(`channel ${channel.name} has no path for ${operation}`);
  return query ? `${path}${subpath ?? ''}?${query}` : `${path}${subpath ?? ''}`;
};

const isStreamed = (body: UpstreamRequest['body'] | null): body is StreamedBody =>
  typeof body === 'object' && body !== null && 'open' in body;
