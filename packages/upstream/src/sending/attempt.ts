import type { Readable } from 'node:stream';
import { TRACEPARENT_HEADER, type TraceContext, traceparentOf } from '@gateway/contracts/trace/trace-context';
import { type Candidate, libraryBy } from '../candidate.ts';
import type { CredentialSource } from '../credentials/credential-source.ts';
import { callerQuery } from '../requests/caller-query.ts';
import { requestPath } from '../requests/operation-path.ts';
import { upstreamHeaders } from '../requests/request-headers.ts';
import type { StreamedBody, UpstreamRequest } from '../requests/upstream-request.ts';
import { AuthorizedRequest } from './authorized-request.ts';
import { Exchange } from './exchange.ts';
import type { ExchangeOptions } from './exchange-options.ts';

export interface AttemptOptions extends Omit<ExchangeOptions, 'namesObject' | 'translated'> {
  readonly request: UpstreamRequest;
  /** Null: its account has a key, or needs none. */
  readonly credentials: CredentialSource | null;
  /** Of the attempt's span, for a channel that it is passed on to. */
  readonly traceContext?: TraceContext | undefined;
}

/** Sends the request to one channel. @throws for internal errors, before anything has begun */
export function attempt({ request, credentials, traceContext, ...options }: AttemptOptions): Exchange {
  const { candidate, client } = options;
  const library = libraryBy(candidate);
  const streamed = request.streamed ?? options.streamed;
  const sent = library === null ? httpRequest(candidate, request, streamed) : null;
  if (traceContext !== undefined) sent?.headers.push(TRACEPARENT_HEADER, traceparentOf(traceContext));
  const exchange = new Exchange({
    ...options,
    streamed,
    namesObject: request.subpath !== undefined,
    translated: request.translated ?? false,
  });
  client.begin();
  if (sent !== null && credentials === null)
    client.dispatch({ ...sent, body: openBody(request, exchange) }, exchange);
  else if (sent !== null && credentials !== null) {
    const { origin } = candidate.channel;
    const body = isStreamed(request.body) ? 'streamed' : (request.body ?? null);
    const { method } = sent;
    const open = () => openBody(request, exchange);
    const final = { ...sent, origin, body } as const;
    void new AuthorizedRequest({ request: final, method, open, credentials, client, exchange }).send();
  } else if (library !== null)
    void import('../libraries/call-library.ts').then(
      ({ callLibrary }) => callLibrary({ candidate, credentials, client, request, library }, exchange),
      // As where there are no file descriptors left.
      (error: unknown) => exchange.abandon(error),
    );
  return exchange;
}

function httpRequest(candidate: Candidate, request: UpstreamRequest, streamed: boolean) {
  const { method, body, query } = request;
  const isSigned = candidate.account.secrets.auth?.type === 'aws';
  const sent = query ? { ...request, query: callerQuery(query, isSigned) } : request;
  const path = requestPath(candidate, sent, streamed);
  const length = isStreamed(body) ? body.sizeBytes : null;
  const versioned = candidate.route.quirks.envelope === null;
  const headers = upstreamHeaders(candidate.account, request.headers, request.operation, length, versioned);
  return { path, method, headers };
}

function openBody({ body }: UpstreamRequest, exchange: Exchange): Buffer | string | Readable | null {
  if (!isStreamed(body)) return body ?? null;
  return body.open().once('error', (error) => exchange.abandon(error));
}

const isStreamed = (body: UpstreamRequest['body'] | null): body is StreamedBody =>
  typeof body === 'object' && body !== null && 'open' in body;
