import type { Reply } from '@gateway/upstream/reply';
import { usageOfConsumption } from '../metering/consumption.ts';
import { type Consumed, guessedUsage, NOTHING_KNOWN } from './outcome.ts';
import type { TextCall } from './text-call.ts';

/** Has the usage of a response that goes on without its caller booked when it ends. Without Redis it is estimated now. */
export async function keepPending(call: TextCall, reply: Reply, id: string): Promise<Consumed> {
  const { services, reservation, identity, model, context } = call;
  if (reservation === null) return NOTHING_KNOWN;
  const { subject, estimate } = reservation;
  const { channel, model: upstreamModel, requestedModel } = reply.candidate;
  const origin = { keyId: identity.keyId, channel: channel.name, model: upstreamModel, requestedModel };
  try {
    await services.background.add({ id, origin, subject, estimate, price: model.price });
    context.line.usagePending = true;
    return { ...NOTHING_KNOWN, pendingId: id };
  } catch {
    return guessedUsage(usageOfConsumption(estimate.consumption));
  }
}
