import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';

/** The address that a request comes from, by which failed sign-ins are counted; the log and the list of sessions show it. */
export type AddressOf = (request: Pick<IncomingMessage, 'socket' | 'headers'>) => string;

/**
 * @param trustProxy whether a proxy of one's own is before this service. Then the last address of `x-forwarded-for` is what that
 *   proxy saw; those before it are what anybody may have written
 */
export const createAddressOf =
  (trustProxy: boolean): AddressOf =>
  ({ socket, headers }) =>
    (trustProxy ? lastOf(headers['x-forwarded-for']) : undefined) ?? socket.remoteAddress ?? 'unknown';

function lastOf(forwarded: string | string[] | undefined): string | undefined {
  const last = String(forwarded ?? '')
    .split(',')
    .at(-1)
    ?.trim();
  // Some proxies add the port.
  const address = last?.replace(/^\[(.*)\](?::\d+)?$/, '$1').replace(/^([\d.]+):\d+$/, '$1');
  return address !== undefined && isIP(address) !== 0 ? address : undefined;
}
