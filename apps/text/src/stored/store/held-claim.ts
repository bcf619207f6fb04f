import type { Claim, ConversationStore } from './conversation-store.ts';

/** After the death of a process, what it had claimed is free in this time, in milliseconds. */
const LEASE_MS = 60_000;
const RENEWALS_PER_LEASE = 3;

/**
 * A claim that lasts until it is released, however long that takes; null where somebody else has it. With the id of a delivery, the
 * request has it again when it is delivered again.
 */
export async function holdClaim(
  store: Pick<ConversationStore, 'claim'>,
  owner: string,
  name: string,
  delivery?: string | null,
): Promise<Pick<Claim, 'release'> | null> {
  const claim = await store.claim(owner, name, LEASE_MS, delivery ?? undefined);
  if (claim === null) return null;
  const renew = () => claim.renew(LEASE_MS).catch(() => undefined);
  const timer = setInterval(renew, LEASE_MS / RENEWALS_PER_LEASE);
  timer.unref();
  let releasing: Promise<void> | null = null;
  return {
    release: () => {
      clearInterval(timer);
      releasing ??= claim.release();
      return releasing;
    },
  };
}
