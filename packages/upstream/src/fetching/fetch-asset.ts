import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Account, Channel } from '../configuration/configuration.ts';
import { type FetchedBody, FetchUrlError, fetchUrl } from './fetch-url.ts';

export interface AssetOptions {
  /** From a provider's result; a path is one on the channel's origin. */
  readonly url: string;
  /** The channel of the result. Its own address was configured and is trusted; no other private one is. */
  readonly channel: Channel;
  /** The account that made the result. Without one, no credentials are sent. */
  readonly account?: Pick<Account, 'secrets'>;
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
}

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

/**
 * Fetches what a provider's result links to, over http(s), and passes it to `read`. Only public addresses and the channel's own
 * origin are connected to, also after redirects; the account's credentials go to that origin alone, and only where it demands them.
 * Size and time are bounded. Throws `upstream_failed`, `upstream_timeout`, or `client_closed_request` when
 * the signal fires, and whatever `read` throws.
 */
export const fetchAsset = async <Result>(
  options: AssetOptions,
  read: (body: FetchedBody) => Promise<Result>,
): Promise<Result> => {
  const { channel, account, maxBytes } = options;
  const { connectMs, timeLimits, network, origin } = channel;
  const { totalMs } = timeLimits.image;
  const url = URL.canParse(options.url, origin) ? new URL(options.url, origin).href : options.url;
  const credentials = account && { origin, headers: account.secrets.headers };
  const timeLimit = AbortSignal.timeout(Math.min(totalMs, MAX_FETCH_MS));
  const signal = options.signal ? AbortSignal.any([options.signal, timeLimit]) : timeLimit;
  try {
    const trustedOrigins = [origin];
    const networks = { network, trustedNetwork: network };
    return await fetchUrl(
      { url, trustedOrigins, ...networks, ...(credentials && { credentials }), maxBytes, connectMs, signal },
      read,
    );
  } catch (error) {
    if (options.signal?.aborted)
      throw new GatewayError('client_closed_request', 'The caller closed the request.');
    if (!(error instanceof FetchUrlError)) throw error;
    if (timeLimit.aborted) throw failed('its time limit ran out', 'upstream_timeout');
    throw failed(error.message);
  }
};
