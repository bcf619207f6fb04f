import { BlockList, isIP } from 'node:net';
import { ConfigurationError } from '../configuration/mistakes/configuration-error.ts';
import type { Certificates } from './certificates.ts';
import { type ForwardProxy, PROXY_EXPECTED, readProxy } from './proxy.ts';

/** How connections leave this process. */
export interface Network {
  /** The proxy to this origin; null: none. */
  proxyFor(origin: URL): ForwardProxy | null;
  /** Authorities that are trusted besides those of Node; null: none. */
  readonly certificates: Certificates | null;
}

export const DIRECT: Network = { proxyFor: () => null, certificates: null };

/** Whether connections to this origin leave in the same way. */
export const isSameWay = (one: Network, other: Network, origin: string): boolean => {
  const [first, second] = [one.proxyFor(new URL(origin)), other.proxyFor(new URL(origin))];
  const isSameProxy = first?.origin === second?.origin && first?.authorization === second?.authorization;
  return isSameProxy && one.certificates?.text === other.certificates?.text;
};

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The network that the usual variables describe: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` for both, and `NO_PROXY`. Lower-case
 * names count before upper-case ones, as in curl. This machine itself is always connected to directly.
 *
 * @throws {ConfigurationError} for a value that is no proxy of http or https
 */
export function environmentNetwork(env: Environment): Network {
  const all = proxyIn(env, 'ALL_PROXY');
  const proxies = {
    'http:': proxyIn(env, 'HTTP_PROXY') ?? all,
    'https:': proxyIn(env, 'HTTPS_PROXY') ?? all,
  };
  if (proxies['http:'] === null && proxies['https:'] === null) return DIRECT;
  const isDirect = directHosts(variable(env, 'NO_PROXY') ?? '');
  return {
    proxyFor: (origin) =>
      isDirect(origin) ? null : proxies[origin.protocol === 'https:' ? 'https:' : 'http:'],
    certificates: null,
  };
}

const variable = (env: Environment, name: string): string | undefined =>
  (env[name.toLowerCase()] || env[name])?.trim() || undefined;

function proxyIn(env: Environment, name: string): ForwardProxy | null {
  const text = variable(env, name);
  if (text === undefined) return null;
  const proxy = readProxy(text);
  if (proxy !== undefined) return proxy;
  // The value may hold a password.
  const mistake = { line: null, column: null, path: name, found: 'another value', expected: PROXY_EXPECTED };
  throw new ConfigurationError('the environment', [mistake]);
}

/** One entry of `NO_PROXY`. */
type Matches = (host: string, port: string) => boolean;

const LOOPBACK = networks(['127.0.0.0/8', '::1/128']);
const isThisMachine: Matches = (host) =>
  host === 'localhost' || host.endsWith('.localhost') || LOOPBACK(host);

/** `*`, hosts with all of their subdomains, addresses and networks, each with a port if it is meant. */
function directHosts(text: string): (origin: URL) => boolean {
  const entries = text.split(/[\s,]+/).filter((entry) => entry !== '');
  const matchers = [isThisMachine, ...entries.map(readEntry)];
  return ({ hostname, port, protocol }) => {
    const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
    return matchers.some((matches) => matches(host, port || (protocol === 'https:' ? '443' : '80')));
  };
}

function readEntry(entry: string): Matches {
  if (entry.includes('/')) return networks([entry]);
  const [, bracketed, name, only] =
    /^(?:\[(.+)\]|([^:]*|.*:.*:.*?))(?::(\d+))?$/.exec(entry.toLowerCase()) ?? [];
  const host = (bracketed ?? name ?? '').replace(/^\*?\./, '').replace(/\.$/, '');
  const isSubdomain = isIP(host) === 0;
  return (candidate, port) => {
    if (only !== undefined && only !== port) return false;
    return (
      host === '*' || candidate === host || (isSubdomain && host !== '' && candidate.endsWith(`.${host}`))
    );
  };
}

/** Whether a host is an address within one of these networks. What is no network matches nothing. */
function networks(list: readonly string[]): (host: string) => boolean {
  const blocks = new BlockList();
  for (const entry of list) {
    const [, base = '', bits] = /^\[?([^\]/]+)\]?\/(\d+)$/.exec(entry) ?? [];
    const family = isIP(base);
    if (family !== 0 && Number(bits) <= (family === 4 ? 32 : 128))
      blocks.addSubnet(base, Number(bits), family === 4 ? 'ipv4' : 'ipv6');
  }
  return (host) => {
    const family = isIP(host);
    return family !== 0 && blocks.check(host, family === 4 ? 'ipv4' : 'ipv6');
  };
}
