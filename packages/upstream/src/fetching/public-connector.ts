import { lookup as lookupHost } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import { isPublicAddress } from './public-address.ts';

/** A host that must not be connected to. */
export class NotPublicError extends Error {
  override readonly name = 'NotPublicError';
  constructor(host: string) {
    super(`${host} is not a public address`);
  }
}

type IsAllowed = (address: string) => boolean;

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
 * Connects to allowed addresses only: to those of the public internet, unless others are given. Literal
 * addresses are checked before the connection, names while they are resolved. The real address is checked
 * again after it.
 */
export const publicConnector = (
  timeoutMs: number,
  isAllowed: IsAllowed = isPublicAddress,
): buildConnector.connector => {
  const connect = buildConnector({ allowH2: false, timeout: timeoutMs, lookup: lookupAllowed(isAllowed) });
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
