import { GatewayError } from '@gateway/contracts/gateway-error';
import { Agent, type Dispatcher } from 'undici';
import type { Channel } from './configuration/configuration.ts';
import { publicConnector } from './public-connector.ts';

export interface AssetOptions {
  /** From a provider's result. */
  readonly url: string;
  /** The channel of the result. Its own address was configured and is trusted; no other private one is. */
  readonly channel: Channel;
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
}

export interface Asset {
  readonly bytes: Buffer;
  /** The server's content type; null if it sends none. */
  readonly contentType: string | null;
}

const MAX_REDIRECTS = 3;
const MAX_FETCH_MS = 120_000;

const failed = (
  reason: string,
  code: 'upstream_failed' | 'upstream_timeout' = 'upstream_failed',
): GatewayError =>
  new GatewayError(code, {
    message: "The upstream's result could not be fetched.",
    source: 'upstream',
    cause: new Error(`fetching a result: ${reason}`),
  });

const parseUrl = (text: string, base?: string): URL => {
  const url = URL.canParse(text, base) ? new URL(text, base) : null;
  if (url === null) throw failed('its URL cannot be read');
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw failed(`its URL begins with ${url.protocol}`);
  if (url.username !== '' || url.password !== '') throw failed('its URL holds a user name');
  return url;
};

const header = (headers: Dispatcher.ResponseData['headers'], name: string): string | null => {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? null;
};

const readBody = async ({ body, headers }: Dispatcher.ResponseData, maxBytes: number): Promise<Buffer> => {
  const tooLarge = (): GatewayError => failed(`it is larger than ${maxBytes} bytes`);
  if (Number(header(headers, 'content-length') ?? 0) > maxBytes) throw tooLarge();
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of body) {
    if (!Buffer.isBuffer(chunk)) continue;
    sizeBytes += chunk.length;
    if (sizeBytes > maxBytes) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};

const follow = async (
  start: URL,
  { channel, maxBytes }: AssetOptions,
  signal: AbortSignal,
  dispatchers: { readonly own: Agent; readonly others: Agent },
): Promise<Asset> => {
  let url = start;
  for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
    const dispatcher = url.origin === channel.origin ? dispatchers.own : dispatchers.others;
    const { origin, pathname, search } = url;
    const path = pathname + search;
    const reply = await dispatcher.request({
      origin,
      path,
      method: 'GET',
      signal,
      headers: { accept: '*/*' },
    });
    const location = header(reply.headers, 'location');
    if (reply.statusCode === 200) {
      const bytes = await readBody(reply, maxBytes);
      return { bytes, contentType: header(reply.headers, 'content-type') };
    }
    await reply.body.dump();
    if (reply.statusCode < 300 || reply.statusCode > 399 || location === null) {
      throw failed(`its server answered ${reply.statusCode}`);
    }
    url = parseUrl(location, url.href);
  }
  throw failed(`it was redirected more than ${MAX_REDIRECTS} times`);
};

/**
 * Fetches the file that a provider's result links to, over http(s), without any of the channel's credentials. Only public
 * addresses and the channel's own origin are connected to, redirects included; size and time are bounded.
 * Throws `upstream_failed`, `upstream_timeout`, or `client_closed_request` when the signal fires.
 */
export const fetchAsset = async (options: AssetOptions): Promise<Asset> => {
  const { connectMs, totalMs } = options.channel.timeouts;
  const timeLimit = AbortSignal.timeout(Math.min(totalMs, MAX_FETCH_MS));
  const signal = options.signal ? AbortSignal.any([options.signal, timeLimit]) : timeLimit;
  const own = new Agent({ allowH2: false, connect: { timeout: connectMs } });
  const others = new Agent({ allowH2: false, connect: publicConnector(connectMs) });
  try {
    return await follow(parseUrl(options.url), options, signal, { own, others });
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    if (options.signal?.aborted)
      throw new GatewayError('client_closed_request', 'The caller closed the request.');
    if (timeLimit.aborted) throw failed('its time limit ran out', 'upstream_timeout');
    throw failed(error instanceof Error ? error.message : 'unknown');
  } finally {
    await Promise.all([own.destroy(), others.destroy()]);
  }
};
