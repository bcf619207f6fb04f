import type { Gateway } from '../support/start-gateway.ts';
import { type Exchange, exchange, type WireRequest } from '../wire/exchange.ts';
import { readError } from '../wire/replies.ts';

let count = 0;

/** Sends a request with the gateway's key, and whatever headers it has. */
export function sendRequest(
  { url, key }: Pick<Gateway, 'url' | 'key'>,
  path: string,
  { headers = {}, ...request }: Partial<WireRequest> = {},
): Promise<Exchange> {
  count += 1;
  const body = request.body ?? null;
  return exchange(url, {
    method: body === null ? 'GET' : 'POST',
    ...request,
    path,
    body,
    headers: {
      authorization: `Bearer ${key}`,
      'x-request-id': `fuzz-request-${count}`,
      ...(body === null ? {} : { 'content-length': String(body.length) }),
      ...headers,
    },
  });
}

/**
 * What is wrong with a reply to whatever was sent: it must be whole, and either no error, or one in the caller's protocol that
 * is not the gateway's own fault.
 */
export function problemsOf(reply: Exchange): string[] {
  const status = reply.status ?? 0;
  if (reply.end !== 'complete') return [`${reply.path}: ${status} ${reply.end}`];
  if (status >= 200 && status < 400) return [];
  const { problems } = readError(reply);
  const isOwnFault = status >= 500 && reply.headers['x-gateway-refused-by'] !== 'upstream';
  return [...problems, ...(isOwnFault ? ['its own fault'] : [])].map(
    (problem) => `${reply.path}: ${status} ${problem}: ${reply.body.toString().slice(0, 300)}`,
  );
}
