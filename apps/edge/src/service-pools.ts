import type { ServiceName } from '@gateway/contracts/endpoints';
import type { Logger } from '@gateway/service-kit/logger';
import { createServicePool, type ServicePool } from './service-pool.ts';

export interface ServicePools {
  readonly pools: Readonly<Record<ServiceName, ServicePool>>;
  close(): void;
}

interface ServicePoolsOptions {
  readonly urls: Readonly<Record<ServiceName, readonly string[]>>;
  readonly lookup: (host: string) => Promise<readonly string[]>;
  readonly now: () => number;
  readonly logger: Logger;
}

/** Replicas that are added or moved are found within this time. */
const REFRESH_MS = 3000;

/** The pools of all services, their names resolved again every few seconds. A name that does not resolve yet is no error. */
export async function createServicePools({
  urls,
  lookup,
  now,
  logger,
}: ServicePoolsOptions): Promise<ServicePools> {
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
  const poolOf = (service: ServiceName): ServicePool =>
    createServicePool({ urls: urls[service], lookup: resolve, now, onLookupFailure: warnOnce });
  const pools = { text: poolOf('text'), image: poolOf('image'), audio: poolOf('audio') };
  const refresh = () => Promise.all(Object.values(pools).map((pool) => pool.refresh()));
  await refresh();
  const timer = setInterval(refresh, REFRESH_MS);
  return { pools, close: () => clearInterval(timer) };
}
