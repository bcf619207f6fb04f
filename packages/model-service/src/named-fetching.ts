import type { NamedFetching } from '@gateway/upstream/fetching/fetch-named';
import type { Upstream } from '@gateway/upstream/upstream';
import type { FetchSettings } from './settings.ts';

/** How a service fetches what callers name by URL. */
export const namedFetching = (
  config: FetchSettings,
  upstream: Pick<Upstream, 'configuration'>,
): NamedFetching => ({
  privateOrigins: config.IMAGE_FETCH_PRIVATE_ORIGINS,
  timeoutMs: config.IMAGE_FETCH_TIMEOUT_MS,
  network: () => upstream.configuration.network,
});
