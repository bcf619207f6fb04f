import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { INTERNAL_HEADERS } from '@gateway/contracts/identity';

/** The id of a request that the edge may deliver again, to another replica; null for any other. */
export function deliveryOf({ headers }: Pick<IncomingMessage, 'headers'>): string | null {
  const id = headers[INTERNAL_HEADERS.delivery];
  return typeof id === 'string' ? id : null;
}

/** The id of the job that a delivered request makes: the same each time. */
export const deliveredJobId = (delivery: string): string =>
  `job_${createHash('sha256').update(delivery).digest('hex').slice(0, 32)}`;
