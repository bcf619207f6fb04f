import { randomUUID } from 'node:crypto';
import { claimName, type StoreScripts } from '@gateway/conversations/store-scripts';
import type { Redis } from 'ioredis';
import type { Claim } from './conversation-store.ts';
import { unavailable } from './unavailable.ts';

interface ClaimWish {
  readonly owner: string;
  readonly name: string;
  readonly leaseMs: number;
  readonly token?: string | undefined;
}

/**
 * Takes a lock; null where somebody else has it. A claimant who has given a token has it again after it was lost with its process.
 *
 * @throws {GatewayError} `service_unavailable`
 */
export async function takeClaim(
  redis: Redis,
  changeClaim: StoreScripts['changeClaim'],
  { owner, name, leaseMs, token = randomUUID() }: ClaimWish,
): Promise<Claim | null> {
  const key = claimName(owner, name);
  const taken = await redis.set(key, token, 'PX', leaseMs, 'NX').catch(unavailable);
  const change = (newLeaseMs: number) => changeClaim([key], token, newLeaseMs);
  if (taken === null && (await change(leaseMs).catch(unavailable)) !== 1) return null;
  return {
    renew: async (newLeaseMs) => (await change(newLeaseMs).catch(unavailable)) === 1,
    release: async () => {
      await change(0);
    },
  };
}
