import type { IncomingMessage } from 'node:http';
import { INTERNAL_HEADERS } from '@gateway/contracts/identity';

/** A request's query as it was sent, without `?`; empty where there is none. */
export function queryOf({ url = '' }: Pick<IncomingMessage, 'url'>): string {
  const mark = url.indexOf('?');
  return mark < 0 ? '' : url.slice(mark + 1);
}

/** Whether the caller wants an error rather than a request that has lost something. */
export const isStrict = ({ headers }: Pick<IncomingMessage, 'headers'>): boolean =>
  headers['x-gateway-strict'] === 'true';

/** The id of a request that the edge may deliver again, to another replica; null for any other. */
export function deliveryOf({ headers }: Pick<IncomingMessage, 'headers'>): string | null {
  const id = headers[INTERNAL_HEADERS.delivery];
  return typeof id === 'string' ? id : null;
}
