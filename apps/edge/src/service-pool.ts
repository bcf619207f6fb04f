import { isIP } from 'node:net';

/** One address of a service. */
export interface ServiceAddress {
  readonly host: string;
  readonly port: number;
  /** Requests in flight to it. */
  inFlight: number;
  /** Not used before this time (Unix milliseconds) if there is another one. */
  avoidedUntilMs: number;
}

/** All addresses of one service, from its URLs and their names. */
export interface ServicePool {
  /** The address with the fewest requests in flight, of those not tried yet; undefined if all were tried. */
  pick(tried: readonly ServiceAddress[]): ServiceAddress | undefined;
  /** Reports an address that refuses connections. */
  refused(address: ServiceAddress): void;
  /** Resolves the names again. */
  refresh(): Promise<void>;
}

interface ServicePoolOptions {
  /** Origins, such as `http://text:8081`. */
  readonly urls: readonly string[];
  /** All addresses of a host name. */
  readonly lookup: (host: string) => Promise<readonly string[]>;
  readonly now: () => number;
  /** Called when a name cannot be resolved; its last addresses stay in use. */
  readonly onLookupFailure: (host: string, error: unknown) => void;
}

/** About as long as a service takes to restart. */
const AVOID_MS = 2000;
const HTTP_PORT = 80;

export function createServicePool({ urls, lookup, now, onLookupFailure }: ServicePoolOptions): ServicePool {
  const origins = urls.map(originOf);
  const resolved = new Map<string, readonly string[]>();
  let addresses: readonly ServiceAddress[] = [];
  let next = 0;

  const resolve = async (host: string) => {
    try {
      resolved.set(host, isIP(host) === 0 ? await lookup(host) : [host]);
    } catch (error) {
      onLookupFailure(host, error);
    }
  };

  return {
    refresh: async () => {
      await Promise.all([...new Set(origins.map(({ host }) => host))].map(resolve));
      const before = new Map(addresses.map((address) => [nameOf(address), address]));
      const found = origins.flatMap(({ host, port }) =>
        (resolved.get(host) ?? []).map((ip) => ({ host: ip, port, inFlight: 0, avoidedUntilMs: 0 })),
      );
      const unique = new Map(found.map((address) => [nameOf(address), address]));
      addresses = [...unique].map(([name, address]) => before.get(name) ?? address);
    },

    pick: (tried) => {
      const nowMs = now();
      let best: ServiceAddress | undefined;
      next = (next + 1) % Math.max(addresses.length, 1);
      for (let step = 0; step < addresses.length; step += 1) {
        const address = addresses[(next + step) % addresses.length];
        if (address === undefined || tried.includes(address)) continue;
        if (best === undefined || isBetter(address, best, nowMs)) best = address;
      }
      return best;
    },

    refused: (address) => {
      address.avoidedUntilMs = now() + AVOID_MS;
    },
  };
}

function isBetter(one: ServiceAddress, other: ServiceAddress, nowMs: number): boolean {
  const avoided = one.avoidedUntilMs > nowMs;
  if (avoided !== other.avoidedUntilMs > nowMs) return !avoided;
  return one.inFlight < other.inFlight;
}

function originOf(url: string): { host: string; port: number } {
  const { hostname, port } = new URL(url);
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: port === '' ? HTTP_PORT : Number(port) };
}

const nameOf = ({ host, port }: ServiceAddress): string => `${host} ${port}`;
