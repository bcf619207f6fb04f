import { Price } from '@gateway/contracts/models/price';
import { UsageResult, UsageSubject } from '@gateway/contracts/usage/usage-record';
import { defineScript, readScript } from '@gateway/redis/define-script';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { JsonObject } from '../wire/json-object.ts';
import { IdOrigin } from './origins/id-origins.ts';

/** A background response whose provider has not reported its usage yet. */
export const PendingResponse = z.object({
  /** The provider's. */
  id: z.string().min(1),
  origin: IdOrigin,
  subject: UsageSubject,
  /** What is reserved for it, and booked where its provider never reports more. */
  estimate: UsageResult,
  /** As it was when the request came; null: the model has none. */
  price: Price.nullable(),
  /** Its span, and the parent of it. Absent where it is not traced, and in those from before December 2026. */
  trace: z.object({ traceparent: z.string(), parentSpanId: z.string() }).optional(),
});
export type PendingResponse = z.infer<typeof PendingResponse>;

/** Kept in Redis, so that any replica goes on where another one ended. */
export interface PendingResponses {
  add(response: PendingResponse, lookInMs: number): Promise<void>;
  /** Null for one that is not pending, or no longer. */
  find(id: string): Promise<PendingResponse | null>;
  /** Takes those that are due; another process gets them when the lease has run out. */
  claim(leaseMs: number, count: number): Promise<readonly PendingResponse[]>;
  lookAgain(id: string, inMs: number): Promise<void>;
  /** Changes nothing. @throws what Redis throws where it is away, or takes no writes */
  tryWrite(): Promise<void>;
  remove(id: string): Promise<void>;
}

/** Books what background responses used when they have ended: once, whether or not anybody reads them. */
export interface BackgroundUsage {
  /** How long a reservation has to last for a response to be looked after. */
  readonly leaseMs: number;
  /** @throws {GatewayError} `service_unavailable` where a response could not be found again by its caller */
  requireStore(): Promise<void>;
  /** Looks after a response from now on. @throws what Redis throws */
  add(response: PendingResponse): Promise<void>;
  /** Another way to learn how it went was faster: nobody looks any more. */
  forget(id: string): Promise<void>;
  /** Takes what a caller has been shown of a response, so that an end that was seen is booked. */
  seen(id: string, response: JsonObject): Promise<void>;
  /** Looks at once, before the provider forgets the response. */
  look(id: string): Promise<void>;
  /** Stops looking; waits for the looks under way. */
  close(): Promise<void>;
}

const DUE = 'gateway:{background}:due';
const KNOWN = 'gateway:{background}:pending';
/** No such key is ever made: a write to it, where it is, is checked by Redis and changes nothing. */
const NOWHERE = 'gateway:{background}:nowhere';

const SCHEDULE = readScript(new URL('./schedule-pending.lua', import.meta.url));
const CLAIM = readScript(new URL('./claim-pending.lua', import.meta.url));

export function createPendingResponses(redis: Redis): PendingResponses {
  const schedulePending = defineScript(redis, 'gatewaySchedulePending', SCHEDULE, z.unknown());
  const claimPending = defineScript(redis, 'gatewayClaimPending', CLAIM, z.array(z.string()));
  const schedule = async (id: string, inMs: number, known: string): Promise<void> => {
    await schedulePending([DUE, KNOWN], id, inMs, known);
  };
  const read = (text: string): PendingResponse => PendingResponse.parse(JSON.parse(text));
  return {
    add: (response, lookInMs) => schedule(response.id, lookInMs, JSON.stringify(response)),
    find: async (id) => {
      const text = await redis.hget(KNOWN, id);
      return text === null ? null : read(text);
    },
    claim: async (leaseMs, count) => {
      const claimed = await claimPending([DUE, KNOWN], leaseMs, count);
      return claimed.map(read);
    },
    lookAgain: (id, inMs) => schedule(id, inMs, ''),
    tryWrite: async () => {
      await redis.set(NOWHERE, '', 'XX');
    },
    remove: async (id) => {
      await redis.multi().zrem(DUE, id).hdel(KNOWN, id).exec();
    },
  };
}
