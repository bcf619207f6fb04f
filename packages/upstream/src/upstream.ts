import { type Candidate, type CandidateQuery, createCatalog, type ResolvedModel } from './catalog.ts';
import { ChannelClients } from './channel-clients.ts';
import type { Configuration, Model } from './configuration/configuration.ts';
import { type AssetOptions, fetchAsset } from './fetch-asset.ts';
import type { FetchedBody } from './fetch-url.ts';
import type { Attempt, Reply } from './reply.ts';
import { type SendOptions, send } from './send.ts';

export interface UpstreamOptions {
  readonly configuration: Configuration;
  /** In [0, 1); decides between routes of one priority. */
  readonly random?: () => number;
  /** Called for every attempt of every request, for metrics. */
  readonly onAttempt?: (attempt: Attempt) => void;
}

/** All calls of a service to providers, under the current configuration. */
export interface Upstream {
  readonly configuration: Configuration;
  /** The exact name first, else the most specific pattern; null for a name that is not served. */
  resolveModel(name: string): ResolvedModel | null;
  listModels(): readonly Model[];
  /** The models that callers can be shown: those with a name, and the catalogue's names for a pattern. */
  listNamedModels(): readonly ResolvedModel[];
  /** The channels that may serve one request, best first. */
  candidates(query: CandidateQuery): readonly Candidate[];
  /** Tries candidates until one begins to answer. Throws a `GatewayError`. */
  send(options: SendOptions): Promise<Reply>;
  /** Fetches what a provider's result links to. Throws a `GatewayError`. */
  fetchAsset<Result>(options: AssetOptions, read: (body: FetchedBody) => Promise<Result>): Promise<Result>;
  /** From now on another configuration holds. Requests that have begun end under the old one. */
  replace(configuration: Configuration): void;
  /** Takes no more requests; resolves when those in flight have ended. */
  close(): Promise<void>;
  /** Aborts the requests in flight. */
  destroy(): Promise<void>;
}

export const createUpstream = (options: UpstreamOptions): Upstream => {
  const { random = Math.random, onAttempt } = options;
  const clients = new ChannelClients();
  let configuration = options.configuration;
  let catalog = createCatalog(configuration, random);
  clients.replace(configuration);

  const withObserver = (request: SendOptions): SendOptions =>
    onAttempt === undefined
      ? request
      : {
          ...request,
          onAttempt: (attempt) => {
            onAttempt(attempt);
            request.onAttempt?.(attempt);
          },
        };

  return {
    get configuration() {
      return configuration;
    },
    resolveModel: (name) => catalog.resolveModel(name),
    listModels: () => catalog.listModels(),
    listNamedModels: () => catalog.listNamedModels(),
    candidates: (query) => catalog.candidates(query),
    send: (request) => send(clients, withObserver(request)),
    fetchAsset,
    replace(next) {
      configuration = next;
      catalog = createCatalog(next, random);
      clients.replace(next);
    },
    close: () => clients.close(),
    destroy: () => clients.destroy(),
  };
};
