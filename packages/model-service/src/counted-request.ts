import type { IncomingMessage } from 'node:http';
import type { Endpoint } from '@gateway/contracts/endpoints/endpoints';
import { INTERNAL_HEADERS } from '@gateway/contracts/identity';
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

interface CountedOptions {
  readonly entry: RequestEntry;
  readonly refusals: Refusals<RefusalReason>;
}

/**
 * Counts requests on their keys' and teams' limits where they reserve (`isCountedByService`): in one round trip, and before
 * they do anything that costs. A request that ends without reserving anything is counted too. Its slots are free again when
 * its response has ended. What an edge of an older version has counted is not counted again.
 */
export function countsWhereItReserves(
  endpoint: Pick<Endpoint, 'scope'>,
  { entry, refusals }: CountedOptions,
  handle: (request: Request, response: Response) => Promise<void>,
): RequestHandler {
  /** @throws {GatewayError} `rate_limited` before the body is read, where the limit is known to be reached */
  const open = (request: Request, response: Response): PendingEntry | undefined => {
    if (request.headers[INTERNAL_HEADERS.uncounted] === undefined) return undefined;
    const identity = identityOf(request);
    return entry.open(identity, contextOf(request).dialect, {
      delivery: deliveryOf(request),
      onEntered: ({ headers, refusal, release }) => {
        // One that reserves nothing may have been answered by now.
        if (!response.headersSent) for (const [name, value] of headers) response.setHeader(name, value);
        if (refusal !== null) refusals.add(refusal.reason, identity, endpoint);
        else if (response.closed) release();
        else response.once('close', release);
      },
    });
  };

  return async (request, response) => {
    let pending: PendingEntry | undefined;
    try {
      pending = open(request, response);
    } catch (error) {
      if (!request.complete) discardRest(request);
      throw error;
    }
    if (pending === undefined) return handle(request, response);
    request[entryOfRequest] = pending;
    try {
      await handle(request, response);
    } catch (error) {
      if (!pending.isCounted) await pending.countAlone();
      throw error;
    }
    if (!pending.isCounted) await pending.countAlone().catch(() => undefined);
  };
}
