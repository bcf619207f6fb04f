import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Endpoint } from '@gateway/contracts/endpoints/endpoints';
import { type Delivery, type Identity, INTERNAL_HEADERS } from '@gateway/contracts/identity';
import type { PendingEntry, RequestEntry } from '@gateway/metering/limits/request-entry';
import type { Refusals } from '@gateway/metering/usage/refusals';
import { deliveryOf } from '@gateway/service-kit/delivery';
import type { RefusalReason } from '@gateway/service-kit/metrics';
import { discardRest } from '@gateway/service-kit/request/discard-rest';
import { contextOf, identityOf, type RequestContext } from '@gateway/service-kit/request/request-context';
import { type Caller, HttpCaller } from './caller.ts';

/** What requests are counted with. */
export interface Counting {
  readonly entry: RequestEntry;
  readonly refusals: Refusals<RefusalReason>;
}

/** A request that is counted, and on which of its key's limits. */
interface CountedRequest {
  readonly endpoint: Pick<Endpoint, 'scope'>;
  readonly caller: Pick<Caller, 'note' | 'onClosed'>;
  readonly identity: Identity;
  readonly context: Pick<RequestContext, 'dialect'>;
  /** See `Delivery`; null where nobody delivers it a second time. */
  readonly delivery: Delivery | null;
}

/** Handles a request. `entry` is what is counted when the request reserves; undefined where it is counted already, or has no limits. */
type HandleCounted = (entry: PendingEntry | undefined) => Promise<void>;

/**
 * Handles a request and counts it once: with what it reserves, in one round trip and before it does anything that costs; by
 * itself where it reserves nothing. Its slots are free again when its response has ended, and before that where it fails.
 *
 * @throws {GatewayError} `rate_limited`, at once and before `handle` is called where the limit is known to be reached; (by the
 *   promise) `service_unavailable` when Redis is away
 */
export function handleCounted(
  counting: Counting,
  counted: CountedRequest,
  handle: HandleCounted,
): Promise<void> {
  const pending = openEntry(counting, counted);
  return pending === undefined ? handle(undefined) : handlePending(pending, handle);
}

async function handlePending(pending: PendingEntry, handle: HandleCounted): Promise<void> {
  try {
    await handle(pending);
  } catch (error) {
    if (!pending.isCounted) await pending.countAlone();
    pending.release();
    throw error;
  }
  if (!pending.isCounted) await pending.countAlone().catch(() => undefined);
}

/** @throws {GatewayError} `rate_limited` where the limit is known to be reached */
const openEntry = (
  { entry, refusals }: Counting,
  { endpoint, caller, identity, context, delivery }: CountedRequest,
): PendingEntry | undefined =>
  entry.open(identity, context.dialect, {
    delivery,
    onEntered: ({ headers, refusal, release }) => {
      // One that reserves nothing may have been answered by now.
      for (const [name, value] of headers) caller.note(name, value);
      if (refusal !== null) refusals.add(refusal.reason, identity, endpoint);
      else caller.onClosed(release);
    },
  });

/**
 * Counts requests on their keys' and teams' limits where they reserve (`isCountedByService`). What an edge of an older version
 * has counted is not counted again.
 */
export const countsWhereItReserves =
  (
    endpoint: Pick<Endpoint, 'scope'>,
    counting: Counting,
    handle: (request: IncomingMessage, caller: Caller, entry: PendingEntry | undefined) => Promise<void>,
  ) =>
  (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const caller = new HttpCaller(response);
    if (request.headers[INTERNAL_HEADERS.uncounted] === undefined) return handle(request, caller, undefined);
    const counted = {
      endpoint,
      caller,
      identity: identityOf(request),
      context: contextOf(request),
      delivery: deliveryOf(request),
    };
    try {
      return handleCounted(counting, counted, (entry) => handle(request, caller, entry));
    } catch (error) {
      if (!request.complete) discardRest(request);
      throw error;
    }
  };
