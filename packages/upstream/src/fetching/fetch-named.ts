import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Network } from '../connecting/network.ts';
import { type FetchedBody, FetchUrlError, fetchUrl } from './fetch-url.ts';

/** How a service fetches what callers name by URL. */
export interface NamedFetching {
  /** Origins with private addresses that may be connected to all the same. */
  readonly privateOrigins: readonly string[];
  /** For all that one request names together. */
  readonly timeoutMs: number;
  /** The way to addresses that are not private, by the current configuration. */
  readonly network: () => Network;
}

/** What a caller's request names by URL. */
export interface Named {
  readonly what: 'image' | 'document';
  readonly url: string;
  /** Where the request names it, and the same as its caller reads it. */
  readonly path: readonly (string | number)[];
  readonly shownPath: string;
  readonly maxBytes: number;
}

interface FetchOptions {
  readonly fetching: Omit<NamedFetching, 'timeoutMs'>;
  /** The caller's. */
  readonly signal: AbortSignal;
  readonly timeLimit: AbortSignal;
}

const CONNECT_MS = 5000;

/**
 * Fetches what a caller names, without credentials and from public addresses only, and passes it to `read`.
 *
 * @throws {GatewayError} `invalid_value` for a URL that brings nothing, `file_too_large`, `client_closed_request`; and whatever
 *   `read` throws
 */
export async function fetchNamed<Result>(
  named: Named,
  { fetching, signal, timeLimit }: FetchOptions,
  read: (body: FetchedBody) => Promise<Result>,
): Promise<Result> {
  const { url, what, path, shownPath, maxBytes } = named;
  try {
    return await fetchUrl(
      {
        url,
        trustedOrigins: fetching.privateOrigins,
        network: fetching.network(),
        maxBytes,
        connectMs: CONNECT_MS,
        signal: AbortSignal.any([signal, timeLimit]),
      },
      read,
    );
  } catch (error) {
    if (signal.aborted) throw new GatewayError('client_closed_request', 'The caller closed the request.');
    if (!(error instanceof FetchUrlError)) throw error;
    if (error.fault === 'too-large') throw namedTooLarge(named);
    const reason = timeLimit.aborted ? 'fetching took too long' : reasonOf(error);
    throw new GatewayError('invalid_value', {
      path: [...path],
      message: `The ${what} at '${shownPath}' could not be fetched: ${reason}.`,
      cause: error,
    });
  }
}

export const namedTooLarge = ({ what, path, shownPath, maxBytes }: Omit<Named, 'url'>): GatewayError =>
  new GatewayError('file_too_large', {
    path: [...path],
    message: `The ${what} in '${shownPath}' is too large. It may have at most ${maxBytes} bytes.`,
  });

/** What a caller may know: nothing about addresses inside of the operator's network. */
const reasonOf = ({ fault, message }: FetchUrlError): string => {
  if (fault === 'private') return 'its address is not public';
  return fault === 'connection' ? 'its server cannot be reached' : message;
};
