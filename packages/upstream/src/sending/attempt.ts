import { Readable } from 'node:stream';
import type { Channel } from '../configuration/configuration.ts';
import { callLibrary } from '../libraries/call-library.ts';
import { upstreamHeaders } from '../requests/request-headers.ts';
import type { StreamedBody, UpstreamRequest } from '../requests/upstream-request.ts';
import { Exchange } from './exchange.ts';
import type { ExchangeOptions } from './exchange-options.ts';

export interface AttemptOptions extends Omit<ExchangeOptions, 'namesObject' | 'translated'> {
  readonly request: UpstreamRequest;
}

/** Sends the request to one channel. */
export function attempt({ request, ...options }: AttemptOptions): Exchange {
  const { candidate, client } = options;
  const { channel } = candidate;
  const exchange = new Exchange({
    ...options,
    namesObject: request.subpath !== undefined,
    translated: request.translated ?? false,
  });
  if (channel.library !== null) {
    void callLibrary({ candidate, client, request, library: channel.library }, exchange);
    return exchange;
  }
  const path = pathOf(channel, request);
  const streamed = isStreamed(request.body) ? request.body : null;
  const length = streamed?.sizeBytes ?? null;
  const headers = upstreamHeaders(candidate.account, request.headers, request.operation, length);
  const body = isStreamed(request.body) ? request.body.open() : (request.body ?? null);
  if (body instanceof Readable) body.once('error', (error) => exchange.abandon(error));
  client.dispatch({ path, method: request.method, headers, body }, exchange);
  return exchange;
}

const pathOf = (channel: Channel, { operation, subpath, query }: UpstreamRequest): string => {
  const path = channel.paths[operation];
  if (path === undefined) throw new Error(`channel ${channel.name} has no path for ${operation}`);
  return query ? `${path}${subpath ?? ''}?${query}` : `${path}${subpath ?? ''}`;
};

const isStreamed = (body: UpstreamRequest['body']): body is StreamedBody =>
  typeof body === 'object' && 'open' in body;
