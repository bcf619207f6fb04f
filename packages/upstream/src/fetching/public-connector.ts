import { lookup as lookupHost } from 'node:dns';
import { lookup as lookupAll } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import type { SecureContext } from 'node:tls';
import { buildConnector } from 'undici';
import { isPublicAddress } from './public-address.ts';

/** A host that must not be connected to. */
export class NotPublicError extends Error {
  override readonly name = 'NotPublicError';
  constructor(host: string) {
    super(`${host} is not a public address`);
  }
}

export type IsAllowed = (address: string) => boolean;

/** DNS for allowed hosts: a name with any other address among its own is refused. */
const lookupAllowed =
  (isAllowed: IsAllowed): LookupFunction =>
  (hostname, options, callback) => {
    lookupHost(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, []);
      const [first] = addresses;
      if (first === undefined || !addresses.every(({ address }) => isAllowed(address))) {
        return callback(new NotPublicError(hostname), []);
      }
      return options.all ? callback(null, addresses) : callback(null, first.address, first.family);
    });
  };

/**
 * The address of a host, for connections that take one.
 *
 * @throws {NotPublicError} where it has one that is not allowed, and what the lookup throws
 */
export async function allowedAddress(host: string, isAllowed: IsAllowed): Promise<string> {
  const addresses = isIP(host) === 0 ? await lookupAll(host, { all: true }) : [{ address: host }];
  const [first] = addresses;
  if (first === undefined || !addresses.every(({ address }) => isAllowed(address)))
    throw new NotPublicError(host);
  return first.address;
}

/**
 * Connects to allowed addresses only: to those of the public internet, unless others are given. Literal
 * addresses are checked before the connection, names while they are resolved. The real address is checked
 * again after it.
 */
export const publicConnector = (
  timeoutMs: number,
  isAllowed: IsAllowed = isPublicAddress,
  secure: { readonly secureContext?: SecureContext } = {},
): buildConnector.connector => {
  const lookup = lookupAllowed(isAllowed);
  const connect = buildConnector({ allowH2: false, timeout: timeoutMs, lookup, ...secure });
  return (options, callback) => {
    if (isIP(options.hostname) !== 0 && !isAllowed(options.hostname)) {
      callback(new NotPublicError(options.hostname), null);
      return;
    }
    connect(options, (...[error, socket]) => {
      if (error !== null) callback(error, null);
      else if (isAllowed(socket.remoteAddress ?? '')) callback(null, socket);
      else {
        socket.destroy();
        callback(new NotPublicError(options.hostname), null);
      }
    });
  };
};

/** Names that are never of the public internet. */
const INNER_NAME = /^[^.]+$|\.(?:local|localhost|internal|intranet|lan|home\.arpa)$/;

/**
 * Connects by a proxy, which resolves the name itself, so that its address cannot be checked. Refused are addresses that are not
 * allowed, names of inner networks, and names that this machine can resolve to an address that is not allowed.
 */
export const allowedByProxy = (
  connect: buildConnector.connector,
  hostname: string,
  isAllowed: IsAllowed,
): buildConnector.connector => {
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  const isRefused = isIP(host) === 0 ? INNER_NAME.test(host) : !isAllowed(host);
  return (options, callback) => {
    if (isRefused) {
      callback(new NotPublicError(hostname), null);
      return;
    }
    lookupHost(host, { all: true }, (error, addresses) => {
      if (error === null && !addresses.every(({ address }) => isAllowed(address)))
        callback(new NotPublicError(hostname), null);
      else connect(options, callback);
    });
  };
};
