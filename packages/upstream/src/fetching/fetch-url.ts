import type { Dispatcher } from 'undici';
import { DIRECT, type Network } from '../connecting/network.ts';
import { openAgent } from '../connecting/open-pool.ts';
import { isPublicAddress } from './public-address.ts';

export interface FetchUrlOptions {
  readonly url: string;
  /** Origins that may be connected to at any address. All others only at a public address. */
  readonly trustedOrigins: readonly string[];
  readonly maxBytes: number;
  readonly connectMs: number;
  readonly network: Network;
  /** The way to the trusted origins; absent: directly. */
  readonly trustedNetwork?: Network;
  /** Bounds the whole. */
  readonly signal: AbortSignal;
  /** Sent to this origin only, where it does not answer without them; a redirect elsewhere never carries them. */
  readonly credentials?: {
    readonly origin: string;
    readonly headers: readonly (readonly [string, string])[];
  };
}

/** Why nothing was fetched. `private`: the address is one that may not be connected to. */
type FetchFault = 'url' | 'private' | 'answer' | 'too-large' | 'connection';

/** What an address leads to could not be fetched. The message completes "could not be fetched: …". */
export class FetchUrlError extends Error {
  readonly fault: FetchFault;

  constructor(fault: FetchFault, message: string, cause?: unknown) {
    super(message, { cause });
    this.fault = fault;
  }
}

export interface FetchedBody {
  /** As the server sends it; null if it sends none. */
  readonly contentType: string | null;
  /** Throws `FetchUrlError` beyond the bound. */
  readonly chunks: AsyncIterable<Buffer>;
}

const MAX_REDIRECTS = 3;
const WANTS_CREDENTIALS: ReadonlySet<number> = new Set([401, 403]);
const REQUEST_HEADERS = { accept: '*/*', 'accept-encoding': 'identity' };

/**
 * Fetches over http(s) and passes the answer to `read`. Only public addresses and trusted
 * origins are connected to, also after redirects.
 *
 * @throws {FetchUrlError} and whatever `read` throws
 */
export async function fetchUrl<Result>(
  options: FetchUrlOptions,
  read: (body: FetchedBody) => Promise<Result>,
): Promise<Result> {
  const { connectMs, trustedOrigins, maxBytes } = options;
  const trusted = openAgent({ network: options.trustedNetwork ?? DIRECT, connectMs });
  const others = openAgent({ network: options.network, connectMs, isAllowed: isPublicAddress });
  try {
    const reply = await follow(options, ({ origin }) => (trustedOrigins.includes(origin) ? trusted : others));
    return await read({
      contentType: header(reply.headers, 'content-type'),
      chunks: bounded(reply, maxBytes),
    });
  } finally {
    await Promise.all([trusted.destroy(), others.destroy()]);
  }
}

async function follow(
  { url: first, signal, credentials }: FetchUrlOptions,
  dispatcherFor: (url: URL) => Dispatcher,
): Promise<Dispatcher.ResponseData> {
  let url = parseUrl(first);
  for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
    const { origin, pathname, search } = url;
    const request = (headers: Readonly<Record<string, string>>) =>
      dispatcherFor(url)
        .request({ origin, path: pathname + search, method: 'GET', signal, headers })
        .catch((error: unknown) => {
          throw connectionError(error);
        });
    let reply = await request(REQUEST_HEADERS);
    if (WANTS_CREDENTIALS.has(reply.statusCode) && credentials?.origin === origin) {
      await reply.body.dump();
      reply = await request({ ...REQUEST_HEADERS, ...Object.fromEntries(credentials.headers) });
    }
    if (reply.statusCode === 200) return reply;
    await reply.body.dump();
    const location = header(reply.headers, 'location');
    if (reply.statusCode < 300 || reply.statusCode > 399 || location === null)
      throw new FetchUrlError('answer', `its server answered ${reply.statusCode}`);
    url = parseUrl(location, url.href);
  }
  throw new FetchUrlError('answer', `it was redirected more than ${MAX_REDIRECTS} times`);
}

function parseUrl(text: string, base?: string): URL {
  const url = URL.canParse(text, base) ? new URL(text, base) : null;
  if (url === null) throw new FetchUrlError('url', 'its URL cannot be read');
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw new FetchUrlError('url', `its URL begins with ${url.protocol}`);
  if (url.username !== '' || url.password !== '') throw new FetchUrlError('url', 'its URL holds a user name');
  return url;
}

async function* bounded(
  { body, headers }: Dispatcher.ResponseData,
  maxBytes: number,
): AsyncGenerator<Buffer> {
  const tooLarge = () => new FetchUrlError('too-large', `it is larger than ${maxBytes} bytes`);
  if (Number(header(headers, 'content-length') ?? 0) > maxBytes) throw tooLarge();
  let sizeBytes = 0;
  try {
    for await (const chunk of body) {
      if (!Buffer.isBuffer(chunk)) continue;
      sizeBytes += chunk.length;
      if (sizeBytes > maxBytes) throw tooLarge();
      yield chunk;
    }
  } catch (error) {
    throw error instanceof FetchUrlError ? error : connectionError(error);
  }
}

function header(headers: Dispatcher.ResponseData['headers'], name: string): string | null {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? null;
}

const NOT_PUBLIC = /is not a public address$/;

function connectionError(error: unknown): FetchUrlError {
  const message = error instanceof Error ? error.message : 'unknown';
  return new FetchUrlError(NOT_PUBLIC.test(message) ? 'private' : 'connection', message, error);
}
