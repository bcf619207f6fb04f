import type { ServiceName } from '@gateway/contracts/endpoints/endpoints';
import type { Logger } from '@gateway/service-kit/logger';
import type { MetricsRegistry } from '@gateway/service-kit/metrics';
import { Gauge } from 'prom-client';
import { type AddressWatch, watchAddress } from './address-watch.ts';
import type { ServiceConnections } from './service-connections.ts';
import {
  type AddressState,
  createServicePool,
  isIn,
  isOver,
  type ServiceAddress,
  type ServicePool,
} from './service-pool.ts';

export interface ServicePools {
  readonly pools: Readonly<Record<ServiceName, ServicePool>>;
  close(): void;
}

interface ServicePoolsOptions {
  readonly urls: Readonly<Record<ServiceName, readonly string[]>>;
  readonly lookup: (host: string) => Promise<readonly string[]>;
  /** A clock in milliseconds that nobody sets. */
  readonly uptime: () => number;
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
  readonly connections: Pick<ServiceConnections, 'retire'>;
}

/** Replicas that are added or moved are found within this time. */
const REFRESH_MS = 1000;

/**
 * The pools of all services. Their names are resolved again every second, and each address is watched: one that stops, is
 * gone or falls silent gets no more requests while there is another. A name that does not resolve yet is no error.
 */
export async function createServicePools(options: ServicePoolsOptions): Promise<ServicePools> {
  const { urls, lookup, uptime, logger, metrics } = options;
  const unresolved = new Set<string>();
  const warnOnce = (host: string, error: unknown) => {
    if (!unresolved.has(host)) logger.warn({ host, err: error }, 'a service name does not resolve');
    unresolved.add(host);
  };
  const resolve = async (host: string) => {
    const addresses = await lookup(host);
    if (unresolved.delete(host)) logger.info({ host, addresses }, 'a service name resolves again');
    return addresses;
  };
  const watches = createWatches(options);
  const poolOf = (service: ServiceName): ServicePool =>
    createServicePool({
      urls: urls[service],
      lookup: resolve,
      uptime,
      onLookupFailure: warnOnce,
      onChange: (found, lost) => {
        for (const address of found) watches.begin(service, address);
        for (const address of lost) watches.end(address);
      },
    });
  const pools = {
    text: poolOf('text'),
    image: poolOf('image'),
    audio: poolOf('audio'),
    retrieval: poolOf('retrieval'),
  };
  new Gauge({
    name: 'gateway_service_addresses',
    help: 'Addresses of services, by their state at the edge',
    labelNames: ['target', 'state'],
    registers: [metrics.registry],
    collect() {
      this.reset();
      for (const [target, { addresses }] of Object.entries(pools))
        for (const { state } of addresses) this.inc({ target, state });
    },
  });
  const all = Object.values(pools);
  const refresh = () => Promise.all(all.map((pool) => pool.refresh()));
  await refresh();
  let isRefreshing = false;
  const timer = setInterval(async () => {
    // A resolver that takes longer than the interval is not called twice.
    if (isRefreshing) return;
    isRefreshing = true;
    await refresh();
    isRefreshing = false;
  }, REFRESH_MS);
  return {
    pools,
    close: () => {
      clearInterval(timer);
      watches.close();
    },
  };
}

function createWatches({ logger, connections }: Pick<ServicePoolsOptions, 'logger' | 'connections'>) {
  const watches = new Map<ServiceAddress, AddressWatch>();
  let isClosed = false;

  const enter = (
    service: ServiceName,
    address: ServiceAddress,
    state: AddressState,
    missing: readonly string[],
  ) => {
    const { host, port, state: before } = address;
    address.state = state;
    if (isOver(address)) connections.retire(address);
    const isNowIn = isIn(address);
    if (before === 'unknown' && isNowIn) return;
    const line = { target: service, host, port, state, ...(missing.length > 0 && { missing }) };
    if (isNowIn) logger.info(line, 'a service address is in');
    else if (isIn({ state: before })) logger.warn(line, 'a service address is out');
  };

  return {
    begin: (service: ServiceName, address: ServiceAddress) => {
      if (isClosed) return;
      const onState = (state: AddressState, missing: readonly string[]) =>
        enter(service, address, state, missing);
      watches.set(address, watchAddress({ address, onState }));
    },
    end: (address: ServiceAddress) => {
      watches.get(address)?.close();
      watches.delete(address);
      address.state = 'gone';
      connections.retire(address);
    },
    close: () => {
      isClosed = true;
      for (const watch of watches.values()) watch.close();
      watches.clear();
    },
  };
}
