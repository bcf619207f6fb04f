import type { Metered } from '@gateway/metering/meter/meter';
import type { Reply } from '@gateway/upstream/reply';
import { usageOfConsumption } from '../metering/consumption.ts';
import { noteEstimatedUsage } from './call-notes.ts';
import { resultOf } from './metered-call.ts';
import type { TextCall } from './text-call.ts';

/** Has the usage of a response that goes on without its caller booked when it ends. Without Redis the estimate is booked. */
export async function awaitEnd(call: TextCall, reply: Reply, id: string): Promise<void> {
  const { services, tally, identity, model, context } = call;
  const { channel, model: upstreamModel, requestedModel } = reply.candidate;
  const { reserved } = tally;
  if (reserved === null) return;
  const origin = { keyId: identity.keyId, channel: channel.name, model: upstreamModel, requestedModel };
  try {
    await services.background.add({ id, origin, ...reserved, price: model.price });
    tally.pending = id;
    context.line.usagePending = true;
  } catch {
    noteEstimatedUsage(call, reply, usageOfConsumption(reserved.estimate.consumption));
  }
}

/** Puts down how a call went, or leaves its reservation to those who look after responses in the background. */
export async function settleOrKeep(call: TextCall, metered: Metered, thrown: unknown): Promise<void> {
  const { services, tally } = call;
  const { pending, reserved } = tally;
  if (pending === null || reserved === null) return metered.settle(resultOf(call, thrown));
  if (await metered.keep(services.background.leaseMs)) return;
  await services.background.forget(pending).catch(() => undefined);
  const { consumption, costMicroUsd } = reserved.estimate;
  await metered.settle({ ...resultOf(call, thrown), consumption, costMicroUsd, estimated: true });
}
