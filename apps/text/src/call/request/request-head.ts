import type { IncomingMessage } from 'node:http';

/** A request's query as it was sent, without `?`; empty where there is none. */
export function queryOf({ url = '' }: Pick<IncomingMessage, 'url'>): string {
  const mark = url.indexOf('?');
  return mark < 0 ? '' : url.slice(mark + 1);
}

/** Whether the caller wants an error rather than a request that has lost something. */
export const isStrict = ({ headers }: Pick<IncomingMessage, 'headers'>): boolean =>
  headers['x-gateway-strict'] === 'true';
