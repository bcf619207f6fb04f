import { z } from 'zod';
import { Finding } from '../findings/finding.ts';

const some = z.strictObject({
  /** The first of them. */
  findings: z.array(Finding),
  /** How many there are. */
  count: z.int(),
});
export type SomeFindings = z.infer<typeof some>;

const TeamSpend = z.strictObject({
  /** Null: keys without a team. */
  team: z.string().nullable(),
  requests: z.int(),
  costMicroUsd: z.int(),
  /** In the week before. */
  previousCostMicroUsd: z.int(),
  unpricedRequests: z.int(),
});

const base = { id: z.string(), atMs: z.number() };

/** What a receiver is sent: the same for all kinds of receivers. It waits in Redis, and holds no address and no secret. */
export const Message = z.discriminatedUnion('type', [
  z.strictObject({ ...base, type: z.literal('alert'), opened: some, continuing: some, resolved: some }),
  z.strictObject({
    ...base,
    type: z.literal('report'),
    /** Dates, the second one exclusive. */
    from: z.string(),
    to: z.string(),
    /** The most expensive first. */
    teams: z.array(TeamSpend),
    total: TeamSpend.omit({ team: true }),
  }),
  z.strictObject({ ...base, type: z.literal('test'), by: z.string() }),
]);
export type Message = z.infer<typeof Message>;
export type Report = Extract<Message, { type: 'report' }>;

/** A message for one receiver. */
export const Delivery = z.strictObject({ receiver: z.string(), message: Message });
export type Delivery = z.infer<typeof Delivery>;
