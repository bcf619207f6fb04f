import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Claim } from './conversation-store.ts';
import { claimName } from './scripts/store-scripts.ts';
import { unavailable } from './unavailable.ts';

/**
 * Takes a lock; null where somebody else has it. A claimant who has given a token has it again after it was lost with its process.
 *
 * @throws {GatewayError} `service_unavailable`
 */
export async function takeClaim(
  redis: Redis,
  owner: string,
  name: string,
  leaseMs: number,
  token: string = randomUUID(),
): Promise<Claim | null> {
  const key = claimName(owner, name);
  const taken = await redis.set(key, token, 'PX', leaseMs, 'NX').catch(unavailable);
  const change = (newLeaseMs: number) => redis.gatewayChangeClaim(1, key, token, newLeaseMs);
  if (taken === null && (await change(leaseMs).catch(unavailable)) !== 1) return null;
  return {
    renew: async (newLeaseMs) => (await change(newLeaseMs).catch(unavailable)) === 1,
    release: async () => {
      await change(0);
    },
  };
}
