import { lookup as lookupHost } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import { isPublicAddress } from './public-address.ts';

const notPublic = (host: string): Error => new Error(`${host} is not a public address`);

/** DNS for public hosts: a name with any non-public address is refused. */
const lookupPublic: LookupFunction = (hostname, options, callback) => {
  lookupHost(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) return callback(error, []);
    const [first] = addresses;
    if (first === undefined || !addresses.every(({ address }) => isPublicAddress(address))) {
      return callback(notPublic(hostname), []);
    }
    return options.all ? callback(null, addresses) : callback(null, first.address, first.family);
  });
};

/**
 * Connects to public addresses only. Literal addresses are checked before, names while they are resolved, and the
 * address of the open connection once more.
 */
export const publicConnector = (timeoutMs: number): buildConnector.connector => {
  const connect = buildConnector({ allowH2: false, timeout: timeoutMs, lookup: lookupPublic });
  return (options, callback) => {
    if (isIP(options.hostname) !== 0 && !isPublicAddress(options.hostname)) {
      callback(notPublic(options.hostname), null);
      return;
    }
    connect(options, (...[error, socket]) => {
      if (error !== null) callback(error, null);
      else if (isPublicAddress(socket.remoteAddress ?? '')) callback(null, socket);
      else {
        socket.destroy();
        callback(notPublic(options.hostname), null);
      }
    });
  };
};
