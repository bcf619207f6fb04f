import { request } from 'undici';
import type { Network } from './network.ts';
import { openAgent } from './open-pool.ts';

interface FetchOptions {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: URLSearchParams | string | null | undefined;
  readonly signal?: AbortSignal | undefined;
}

const CONNECT_MS = 5000;
const MAX_REPLY_BYTES = 4_194_304;
const NO_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/** A `fetch` for small answers, whose connections leave by this network. Redirects are not followed; one of more than 4 MiB fails. */
export function fetchBy(network: Network): (url: string, options: FetchOptions) => Promise<Response> {
  const dispatcher = openAgent({
    network,
    connectMs: CONNECT_MS,
    isKept: false,
    maxReplyBytes: MAX_REPLY_BYTES,
  });
  return async (url, { method, headers, body = null, signal }) => {
    const reply = await request(url, {
      dispatcher,
      method,
      headers,
      body: body === null ? null : String(body),
      ...(signal && { signal }),
    });
    const bytes = await reply.body.arrayBuffer();
    const answered = new Headers();
    for (const [name, value] of Object.entries(reply.headers))
      for (const one of Array.isArray(value) ? value : [value ?? '']) answered.append(name, one);
    const { statusCode: status } = reply;
    return new Response(NO_BODY.has(status) ? null : bytes, { status, headers: answered });
  };
}
