import { isIP } from 'node:net';
import { GatewayError } from '@gateway/contracts/gateway-error';

/** Names that nobody outside can point at this machine: they are resolved within it, or within its cluster. */
const OWN_SUFFIXES = ['.localhost', '.svc', '.cluster.local'];

/**
 * Makes the check of a `Host` header. A page of anybody's can let its own name lead to this service's address, and its browser then
 * takes both for one origin (DNS rebinding): only names that are known are served. Addresses and names without a dot are no
 * such names.
 *
 * @param named names that lead here; `*.example.com` for all below one, `*` for all
 * @returns throws a `GatewayError` `origin_not_allowed` for another one
 */
export function createHostCheck(named: readonly string[]): (host: string | undefined) => void {
  const names = new Set(named.map((name) => name.toLowerCase()));
  const suffixes = [...names].flatMap((name) => (name.startsWith('*.') ? [name.slice(1)] : []));
  const isKnown = (name: string): boolean =>
    names.has('*') ||
    names.has(name) ||
    isIP(name.replaceAll(/[[\]]/g, '')) !== 0 ||
    !name.includes('.') ||
    [...OWN_SUFFIXES, ...suffixes].some((suffix) => name.endsWith(suffix));
  return (host) => {
    // Browsers send one always.
    if (host === undefined || isKnown(nameIn(host))) return;
    throw new GatewayError(
      'origin_not_allowed',
      'The admin service is not known by the name in the Host header. Set CONSOLE_URL to the address at which browsers reach it, or add the name to ADMIN_ALLOWED_HOSTS.',
    );
  };
}

/** Without the port, and without the dot that ends an absolute name. */
const nameIn = (host: string): string => host.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '');
