import { isIP } from 'node:net';

/**
 * What is known of an address: `unknown` before its first report, and of a service that reports nothing; `unready` while
 * the service itself lacks something; `stopping` once it will take no more; `silent` when reports stay away; `gone` when
 * nothing answers there.
 */
export type AddressState = 'unknown' | 'ready' | 'unready' | 'silent' | 'stopping' | 'gone';

/** One address of a service. */
export interface ServiceAddress {
  readonly host: string;
  readonly port: number;
  state: AddressState;
  /** Requests in flight to it. */
  inFlight: number;
  /** Not used before this time, by the pool's clock, if there is another one. */
  avoidedUntilMs: number;
}

type LoadOf = (address: ServiceAddress) => number;
const requestsInFlight: LoadOf = ({ inFlight }) => inFlight;

/** All addresses of one service, from its URLs and their names. */
export interface ServicePool {
  /**
   * The address with the least load, of the best that were not tried yet; undefined if all were tried. One that is out is
   * still tried where there is no other: its service may know better by then.
   *
   * @param loadOf default: its requests in flight
   */
  pick(tried: readonly ServiceAddress[], loadOf?: LoadOf): ServiceAddress | undefined;
  /** Reports an address that refuses connections. */
  refused(address: ServiceAddress): void;
  /** Resolves the names again. */
  refresh(): Promise<void>;
  readonly addresses: readonly ServiceAddress[];
}

interface ServicePoolOptions {
  /** Origins, such as `http://text:8081`. */
  readonly urls: readonly string[];
  /** All addresses of a host name. */
  readonly lookup: (host: string) => Promise<readonly string[]>;
  /** A clock in milliseconds that nobody sets. */
  readonly uptime: () => number;
  /** Called when a name cannot be resolved; its last addresses stay in use. */
  readonly onLookupFailure: (host: string, error: unknown) => void;
  /** Called with the addresses that a refresh has found, and those that are no longer there. */
  readonly onChange?: (found: readonly ServiceAddress[], lost: readonly ServiceAddress[]) => void;
}

/** About as long as a service takes to restart. */
const AVOID_MS = 2000;
const HTTP_PORT = 80;

export function createServicePool({
  urls,
  lookup,
  uptime,
  onLookupFailure,
  onChange,
}: ServicePoolOptions): ServicePool {
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
        (resolved.get(host) ?? []).map((ip) => newAddress(ip, port)),
      );
      const unique = new Map(found.map((address) => [nameOf(address), address]));
      addresses = [...unique].map(([name, address]) => before.get(name) ?? address);
      const isNew = (address: ServiceAddress) => before.get(nameOf(address)) !== address;
      const isLost = (address: ServiceAddress) => !unique.has(nameOf(address));
      onChange?.(addresses.filter(isNew), [...before.values()].filter(isLost));
    },

    get addresses() {
      return addresses;
    },

    pick: (tried, loadOf = requestsInFlight) => {
      const nowMs = uptime();
      let best: ServiceAddress | undefined;
      next = (next + 1) % Math.max(addresses.length, 1);
      for (let step = 0; step < addresses.length; step += 1) {
        const address = addresses[(next + step) % addresses.length];
        if (address === undefined || tried.includes(address)) continue;
        if (best === undefined || isBetter(address, best, { nowMs, loadOf })) best = address;
      }
      return best;
    },

    refused: (address) => {
      address.avoidedUntilMs = uptime() + AVOID_MS;
    },
  };
}

const newAddress = (host: string, port: number): ServiceAddress => ({
  host,
  port,
  state: 'unknown',
  inFlight: 0,
  avoidedUntilMs: 0,
});

/** Addresses of a lower rank get every request. */
const RANKS: Readonly<Record<AddressState, number>> = {
  ready: 0,
  unknown: 0,
  unready: 2,
  silent: 2,
  stopping: 3,
  gone: 3,
};
const AVOIDED_RANK = 1;

/** Whether an address takes requests as far as is known. */
export const isIn = ({ state }: Pick<ServiceAddress, 'state'>): boolean => RANKS[state] === 0;

/** Whether an address is to get no more requests: its idle connections are of no use. */
export const isOver = ({ state }: Pick<ServiceAddress, 'state'>): boolean => RANKS[state] === RANKS.gone;

const rankOf = ({ state, avoidedUntilMs }: ServiceAddress, nowMs: number): number =>
  Math.max(RANKS[state], avoidedUntilMs > nowMs ? AVOIDED_RANK : 0);

function isBetter(
  one: ServiceAddress,
  other: ServiceAddress,
  { nowMs, loadOf }: { readonly nowMs: number; readonly loadOf: LoadOf },
): boolean {
  const difference = rankOf(one, nowMs) - rankOf(other, nowMs);
  return difference === 0 ? loadOf(one) < loadOf(other) : difference < 0;
}

function originOf(url: string): { host: string; port: number } {
  const { hostname, port } = new URL(url);
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: port === '' ? HTTP_PORT : Number(port) };
}

const nameOf = ({ host, port }: ServiceAddress): string => `${host} ${port}`;
