import { lookUp } from '@gateway/contracts/look-up';
import type { JsonObject } from '../../wire/json-object.ts';

/** What a provider reports for a request that it served as usual, in the words of the known ones. */
const USUAL = ['default', 'standard', 'on_demand'];

/** Tiers that are reported by other names than they are requested by. */
const REPORTED: Readonly<Record<string, readonly string[]>> = {
  default: [],
  standard: [],
  standard_only: [],
  on_demand: [],
  fast: ['fast', 'priority'],
};

/** The service tiers at which a request may be served; null: any, since it leaves that to the provider. */
export function requestedTiers({ service_tier: tier, speed }: JsonObject): readonly string[] | null {
  if (typeof tier !== 'string' || tier === 'auto') return null;
  const fast = speed === 'fast' ? ['fast'] : [];
  return [...USUAL, ...(lookUp(REPORTED, tier) ?? [tier]), ...fast];
}
