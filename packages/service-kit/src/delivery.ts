import type { IncomingMessage } from 'node:http';
import { type Delivery, INTERNAL_HEADERS } from '@gateway/contracts/identity';

/** How the edge delivers a request; null for one that it delivers once. */
export function deliveryOf({ headers }: Pick<IncomingMessage, 'headers'>): Delivery | null {
  const id = headers[INTERNAL_HEADERS.delivery];
  return typeof id === 'string' ? { id, isSecond: headers[INTERNAL_HEADERS.redelivery] !== undefined } : null;
}
