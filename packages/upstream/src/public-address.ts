import ipaddr from 'ipaddr.js';

/**
 * Whether an IP address belongs to the public internet. Everything else is refused: private, loopback, link-local
 * (cloud metadata), carrier-grade NAT, multicast, reserved, and the forms that wrap an IPv4 address in IPv6.
 */
export const isPublicAddress = (address: string): boolean => {
  if (!ipaddr.isValid(address)) return false;
  return ipaddr.process(address).range() === 'unicast';
};
