import { setTimeout as delay } from 'node:timers/promises';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Candidate } from '@gateway/upstream/candidate';
import type { Upstream } from '@gateway/upstream/upstream';

const MAX_IMAGE_BYTES = 100 * 1024 * 1024;
const FETCH_ATTEMPTS = 3;
const FETCH_PAUSE_MS = 250;

interface FetchOptions {
  readonly url: string;
  /** Who made the image. */
  readonly candidate: Pick<Candidate, 'channel' | 'account'>;
}

/**
 * Fetches an image that was made, and passes its bytes to `read`. Fetching costs nothing, unlike making, so it is tried more than once.
 *
 * @throws {GatewayError} `upstream_failed`, `upstream_timeout`, and what `read` throws
 */
export async function fetchImage<Result>(
  upstream: Pick<Upstream, 'fetchAsset'>,
  { url, candidate: { channel, account } }: FetchOptions,
  read: (chunks: AsyncIterable<Buffer>) => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await upstream.fetchAsset({ url, channel, account, maxBytes: MAX_IMAGE_BYTES }, ({ chunks }) =>
        read(chunks),
      );
    } catch (error) {
      const isFetching = error instanceof GatewayError && error.source === 'upstream' && error.retry;
      if (attempt === FETCH_ATTEMPTS || !isFetching) throw error;
      await delay(attempt * FETCH_PAUSE_MS);
    }
  }
}
