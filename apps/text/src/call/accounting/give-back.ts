import type { HeldCall } from '../request/text-call.ts';

/**
 * Gives back what could refuse its caller's next request, before the caller learns of the end: its slots, what is left of its
 * reservation, what it continues. Call it when the call is being settled. Never rejects.
 */
export async function giveBack({ entry, identity, services, release }: HeldCall): Promise<void> {
  entry?.release();
  await Promise.all([identity.accounts.length > 0 && services.meter.sent(), release?.()]);
}
