import ipaddr from 'ipaddr.js';
import { z } from 'zod';

/**
 * Whether an IP address belongs to the public internet. Everything else is refused: private, loopback, link-local
 * (cloud metadata), carrier-grade NAT, multicast, reserved, and the IPv6 addresses that carry
 * an IPv4 address (6to4, NAT64, Teredo); of a mapped one (`::ffff:…`) the IPv4 address counts.
 */
export const isPublicAddress = (address: string): boolean => {
  if (!ipaddr.isValid(address)) return false;
  return ipaddr.process(address).range() === 'unicast';
};

/** Whether an IP address lies in certain networks. */
export type InNetworks = (address: string) => boolean;

/**
 * Reads networks as CIDR, separated by commas: `10.1.0.0/16, fd00::/8`.
 *
 * @returns undefined if one of them is no network
 */
export function parseNetworks(text: string): InNetworks | undefined {
  const parts = text.split(',').map((part) => part.trim());
  if (!parts.every((part) => ipaddr.isValidCIDR(part))) return undefined;
  const networks = parts.map((part) => ipaddr.parseCIDR(part));
  return (address) => {
    if (!ipaddr.isValid(address)) return false;
    const parsed = ipaddr.process(address);
    return networks.some(([base, bits]) => base.kind() === parsed.kind() && parsed.match(base, bits));
  };
}

/** The setting `WEBHOOK_PRIVATE_NETWORKS`: where webhooks and alerts may go besides public addresses. */
export const PrivateNetworks = z
  .string()
  .refine(
    (text) => parseNetworks(text) !== undefined,
    'must be networks such as 10.1.0.0/16, separated by commas',
  )
  .transform(parseNetworks)
  .optional();
