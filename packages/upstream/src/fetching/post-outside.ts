import type { IncomingHttpHeaders } from 'node:http';
import { request } from 'undici';
import { DIRECT, type Network } from '../connecting/network.ts';
import { openAgent } from '../connecting/open-pool.ts';
import { type InNetworks, isPublicAddress } from './public-address.ts';
import { type IsAllowed, NotPublicError } from './public-connector.ts';

interface PosterOptions {
  /** Networks that may be posted to besides public addresses. Only there over plain http. */
  readonly isPrivateAllowed: InNetworks | undefined;
  /** The way to public addresses. */
  readonly network: Network;
  readonly timeLimitMs?: number | undefined;
}

/** What came of it. */
export interface PostOutcome {
  /** The receiver's; null where it did not answer. */
  readonly status: number | null;
  /** Why it did not; null: it did. */
  readonly error: string | null;
  /** The address is one that may not be posted to. */
  readonly isRefused: boolean;
  readonly headers: IncomingHttpHeaders;
}

/** Posts to addresses that people have named, and never to others that their names lead to. */
export interface Poster {
  /** Never rejects for what the receiver does; bounds the time. */
  post(url: string, headers: Readonly<Record<string, string>>, body: string): Promise<PostOutcome>;
  close(): Promise<void>;
}

const TIME_LIMIT_MS = 15_000;
const CONNECT_MS = 5000;
/** The most bytes of an answer, which nobody reads. A longer one ends the connection. */
const MAX_ANSWER_BYTES = 64 * 1024;

/**
 * Redirects are not followed; addresses are checked where the connection is made, so that a name cannot lead elsewhere a moment
 * later.
 */
export function createPoster({ network, timeLimitMs = TIME_LIMIT_MS, ...options }: PosterOptions): Poster {
  const { isPrivateAllowed = () => false } = options;
  const agentFor = (isAllowed: IsAllowed, way: Network) =>
    openAgent({ network: way, connectMs: CONNECT_MS, isAllowed, isKept: false });
  const agents = {
    'https:': agentFor((address) => isPublicAddress(address) || isPrivateAllowed(address), network),
    // Plain http goes to private networks only, which no proxy leads to.
    'http:': agentFor(isPrivateAllowed, DIRECT),
  };
  return {
    post: async (url, headers, body) => {
      const dispatcher = new URL(url).protocol === 'https:' ? agents['https:'] : agents['http:'];
      const signal = AbortSignal.timeout(timeLimitMs);
      try {
        const reply = await request(url, { method: 'POST', dispatcher, headers, body, signal });
        await reply.body.dump({ limit: MAX_ANSWER_BYTES, signal }).catch(() => undefined);
        return { status: reply.statusCode, error: null, isRefused: false, headers: reply.headers };
      } catch (error) {
        const isLate = signal.aborted;
        return {
          status: null,
          error: reasonOf(error, { url, isLate, timeLimitMs }),
          isRefused: error instanceof NotPublicError,
          headers: {},
        };
      }
    },
    close: async () => {
      await Promise.all(Object.values(agents).map((agent) => agent.destroy()));
    },
  };
}

interface Failing {
  readonly url: string;
  readonly isLate: boolean;
  readonly timeLimitMs: number;
}

/** The URL as the log may have it: without its query, and without the addresses of its name. */
function reasonOf(error: unknown, { url, isLate, timeLimitMs }: Failing): string {
  if (error instanceof NotPublicError) {
    const { protocol } = new URL(url);
    const where = 'an address that webhooks may not be sent to';
    return protocol === 'https:' ? where : `${where} over plain http`;
  }
  if (isLate) return `no whole answer within ${timeLimitMs} ms`;
  return connectionReason(error);
}

/** Why a connection failed, by its code alone. */
export function connectionReason(error: unknown): string {
  const code =
    error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
  return code === null ? 'the connection failed' : `the connection failed: ${code}`;
}

/** Why an answer is none that a receiver gives to what it has taken; null: it is. */
export function answerError(status: number): string | null {
  if (status >= 200 && status < 300) return null;
  return `answered ${status}${status >= 300 && status < 400 ? '; redirects are not followed' : ''}`;
}
