import type { Candidate } from './candidate.ts';
import { type CandidateQuery, type Choosing, createCatalog, type ResolvedModel } from './catalog.ts';
import { Accounts } from './choosing/accounts.ts';
import type { LeaseStore } from './choosing/lease-store.ts';
import { createRouteLoads } from './choosing/route-loads.ts';
import type { SlotPool } from './choosing/slot-pool.ts';
import type { SlotWait } from './choosing/wait-for-slot.ts';
import type { Configuration, Model } from './configuration/configuration.ts';
import { type CredentialReport, CredentialSources } from './credentials/credential-sources.ts';
import { type AssetOptions, fetchAsset } from './fetching/fetch-asset.ts';
import type { FetchedBody } from './fetching/fetch-url.ts';
import { createChannelHealth, type HealthEvents, type HealthMemory } from './health/channel-health.ts';
import { createChannelSettings } from './health/channel-settings.ts';
import type { RestSharing } from './health/rests/rest.ts';
import { Hedger } from './hedging/hedger.ts';
import type { HedgeResult } from './hedging/send-hedged.ts';
import type { Attempt, Reply } from './replies/reply.ts';
import { createSend, type SendOptions } from './sending/send.ts';
import type { SocketOptions, UpstreamSocket } from './sockets/open-socket.ts';

export interface UpstreamOptions extends HealthEvents {
  readonly configuration: Configuration;
  /** In [0, 1); decides between routes of one priority. */
  readonly random?: () => number;
  /** The store by which all replicas keep `maxConcurrent` together. Absent: each process keeps it by itself. */
  readonly leases?: LeaseStore | undefined;
  /** Called for every choice between candidates, and for every wait for a slot, for metrics. */
  readonly onPick?: Choosing['onPick'];
  readonly onWait?: ((wait: SlotWait) => void) | undefined;
  /** Called for every attempt of every request, for metrics. */
  readonly onAttempt?: (attempt: Attempt) => void;
  /** Called for every request that was hedged, for metrics. */
  readonly onHedge?: (result: HedgeResult) => void;
  /** Called whenever credentials were got from a source, or could not be. */
  readonly onCredentials?: (report: CredentialReport) => void;
  /** The clock of credentials, and how long it may take to get them; absent: as ever. */
  readonly credentials?: { readonly now?: () => number; readonly fetchMs?: number };
  /** How replicas share which channels rest. Absent: each process knows only its own. */
  readonly sharing?: RestSharing;
}

/** All calls of a service to providers, under the current configuration. */
export interface Upstream {
  readonly configuration: Configuration;
  /** The exact name first, else the most specific pattern; null for a name that is not served. */
  resolveModel(name: string): ResolvedModel | null;
  listModels(): readonly Model[];
  /** The models that callers can be shown: those with a name, and the catalogue's names for a pattern. */
  listNamedModels(): readonly ResolvedModel[];
  /** The candidates that may serve one request, best first. */
  candidates(query: CandidateQuery): readonly Candidate[];
  /** Requests in flight and waiting, by account, in this process. */
  readonly slots: Iterable<Pick<SlotPool, 'channel' | 'account' | 'inFlight' | 'waiting'>>;
  /** Tries candidates until one begins to answer. Throws a `GatewayError`. */
  send(options: SendOptions): Promise<Reply>;
  /** Tries candidates until one of them has begun a session over a WebSocket. Throws a `GatewayError`. */
  openSocket(options: SocketOptions): Promise<UpstreamSocket>;
  /** Which channels rest. */
  readonly health: HealthMemory;
  /** Fetches what a provider's result links to. Throws a `GatewayError`. */
  fetchAsset<Result>(options: AssetOptions, read: (body: FetchedBody) => Promise<Result>): Promise<Result>;
  /** Replaces the configuration. Requests that have begun end under the old one. */
  replace(configuration: Configuration): void;
  /** Takes no more requests; resolves when those in flight have ended. */
  close(): Promise<void>;
  /** Aborts the requests in flight. */
  destroy(): Promise<void>;
}

export const createUpstream = (options: UpstreamOptions): Upstream => {
  const { random = Math.random, onAttempt, onPick, onWait, onHedge, leases } = options;
  const credentials = new CredentialSources({ ...options.credentials, onReport: options.onCredentials });
  const accounts = new Accounts({ leases, credentials });
  const stateOf = (candidate: Candidate) => accounts.of(candidate);
  const loads = createRouteLoads({ stateOf, clock: () => performance.now() });
  const choosing: Choosing = { random, loads, ...(onPick && { onPick }) };
  let configuration = options.configuration;
  let catalog = createCatalog(configuration, choosing);
  accounts.replace(configuration);
  const settings = createChannelSettings(() => configuration);
  const health = createChannelHealth({
    ...options,
    clock: () => performance.now(),
    random,
    sharing: options.sharing ?? null,
    settings,
  });
  const services = { accounts, health, loads, onWait, hedger: new Hedger(stateOf), onAttempt, onHedge };

  return {
    get configuration() {
      return configuration;
    },
    resolveModel: (name) => catalog.resolveModel(name),
    listModels: () => catalog.listModels(),
    listNamedModels: () => catalog.listNamedModels(),
    candidates: (query) => catalog.candidates(query),
    send: createSend(services),
    // Most processes never open one: what it needs is loaded with the first.
    openSocket: async (options) => (await import('./sockets/open-socket.ts')).openSocket(services, options),
    health,
    get slots() {
      return accounts.slots;
    },
    fetchAsset,
    replace(next) {
      configuration = next;
      catalog = createCatalog(next, choosing);
      accounts.replace(next);
      health.endOutdated();
    },
    close: () => accounts.close(),
    destroy: () => accounts.destroy(),
  };
};
