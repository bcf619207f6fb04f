import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Endpoint } from '@gateway/contracts/endpoints/endpoints';
import { type Delivery, INTERNAL_HEADERS } from '@gateway/contracts/identity';
import type { PendingEntry, RequestEntry } from '@gateway/metering/limits/request-entry';
import type { Refusals } from '@gateway/metering/usage/refusals';
import { deliveryOf } from '@gateway/service-kit/delivery';
import type { RefusalReason } from '@gateway/service-kit/metrics';
import { discardRest } from '@gateway/service-kit/request/discard-rest';
import { contextOf, identityOf } from '@gateway/service-kit/request/request-context';
import type { Request, RequestHandler, Response } from 'express';

/** The property of a request that is counted with what it reserves. */
const entryOfRequest: unique symbol = Symbol('request entry');
declare module 'node:http' {
  interface IncomingMessage {
    [entryOfRequest]?: PendingEntry;
  }
}

/** The entry of a request that has yet to be counted on its limits on requests; undefined for any other. */
export const pendingEntryOf = (request: IncomingMessage): PendingEntry | undefined => request[entryOfRequest];

/** What requests are counted with. */
export interface Counting {
  readonly entry: RequestEntry;
  readonly refusals: Refusals<RefusalReason>;
}

/** A request that is counted, and on which of its key's limits. */
interface CountedRequest {
  readonly endpoint: Pick<Endpoint, 'scope'>;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** See `Delivery`; null where nobody delivers it a second time. */
  readonly delivery: Delivery | null;
}

/**
 * Handles a request and counts it once: with what it reserves, in one round trip and before it does anything that costs; by
 * itself where it reserves nothing. Its slots are free again when its response has ended, and before that where it fails.
 *
 * @throws {GatewayError} `rate_limited`, before `handle` is called where the limit is known to be reached; `service_unavailable`
 *   when Redis is away
 */
export async function handleCounted(
  counting: Counting,
  counted: CountedRequest,
  handle: () => Promise<void>,
): Promise<void> {
  const { request } = counted;
  const pending = openEntry(counting, counted);
  if (pending === undefined) return handle();
  request[entryOfRequest] = pending;
  try {
    await handle();
  } catch (error) {
    if (!pending.isCounted) await pending.countAlone();
    pending.release();
    throw error;
  }
  if (!pending.isCounted) await pending.countAlone().catch(() => undefined);
}

/** @throws {GatewayError} `rate_limited` where the limit is known to be reached */
function openEntry(
  { entry, refusals }: Counting,
  { endpoint, request, response, delivery }: CountedRequest,
): PendingEntry | undefined {
  const identity = identityOf(request);
  try {
    return entry.open(identity, contextOf(request).dialect, {
      delivery,
      onEntered: ({ headers, refusal, release }) => {
        // One that reserves nothing may have been answered by now.
        if (!response.headersSent) for (const [name, value] of headers) response.setHeader(name, value);
        if (refusal !== null) refusals.add(refusal.reason, identity, endpoint);
        else if (response.closed) release();
        else response.once('close', release);
      },
    });
  } catch (error) {
    if (!request.complete) discardRest(request);
    throw error;
  }
}

/**
 * Counts requests on their keys' and teams' limits where they reserve (`isCountedByService`). What an edge of an older version
 * has counted is not counted again.
 */
export const countsWhereItReserves =
  (
    endpoint: Pick<Endpoint, 'scope'>,
    counting: Counting,
    handle: (request: Request, response: Response) => Promise<void>,
  ): RequestHandler =>
  (request, response) =>
    request.headers[INTERNAL_HEADERS.uncounted] === undefined
      ? handle(request, response)
      : handleCounted(counting, { endpoint, request, response, delivery: deliveryOf(request) }, () =>
          handle(request, response),
        );
