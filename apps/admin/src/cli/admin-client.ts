import { z } from 'zod';

/** An error that a person can correct. Exit code 1. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

const Page = z.looseObject({ data: z.array(z.unknown()), next: z.string().nullable() });
const AdminError = z.object({
  error: z.object({ code: z.string(), message: z.string(), path: z.string().nullable() }),
});

type Query = Readonly<Record<string, string | undefined>>;

export interface AdminClient {
  call(method: string, path: string, query: Query, body?: unknown): Promise<unknown>;
  /** The items of the first page. */
  page(path: string, query: Query): Promise<readonly unknown[]>;
  /** The items of all pages. */
  list(path: string): Promise<readonly unknown[]>;
  /** The answer's text, piece by piece. */
  stream(path: string, query: Query): AsyncIterable<string>;
}

interface AdminClientOptions {
  readonly url: string;
  readonly token: string;
  /** Where the token comes from, for the message when it is wrong. */
  readonly tokenSource: string;
  /** The name for the audit log. */
  readonly actor: string;
  readonly fetch: typeof fetch;
}

const TIMEOUT_MS = 15_000;
const MAX_PER_PAGE = '200';
/** Headers take no other characters. */
const NOT_PRINTABLE = /[^\x20-\x7e]/g;

/** The admin API for a program on the command line. Every function throws `CommandError`. */
export function createAdminClient({
  url,
  token,
  tokenSource,
  actor,
  fetch,
}: AdminClientOptions): AdminClient {
  const send = async (method: string, path: string, query: Query, init: RequestInit): Promise<Response> => {
    const target = new URL(path, url);
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) target.searchParams.set(name, value);
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'x-gateway-actor': actor.replaceAll(NOT_PRINTABLE, '?'),
    };
    const response = await fetch(target, { method, headers, ...init }).catch(() => {
      throw new CommandError(
        `The admin service is not responding at ${url}. Start the gateway with npm start, or set ADMIN_URL.`,
      );
    });
    if (response.ok) return response;
    if (response.status === 401)
      throw new CommandError(
        `The admin service at ${url} refused the token from ${tokenSource}. Set GATEWAY_ADMIN_TOKEN to the one it was started with.`,
      );
    const { data } = AdminError.safeParse(await response.json().catch(() => undefined));
    throw new CommandError(
      data?.error.message ??
        `Unexpected response from ${url}: status ${response.status}. Is this the admin service?`,
    );
  };

  const call: AdminClient['call'] = async (method, path, query, body) => {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await send(method, path, query, { signal, ...content });
    return response.json().catch(() => {
      throw new CommandError(`${url} did not return JSON. Is this the admin service?`);
    });
  };

  return {
    call,
    page: async (path, query) => Page.parse(await call('GET', path, query)).data,
    list: async (path) => {
      const items: unknown[] = [];
      let cursor: string | undefined;
      do {
        const page = Page.parse(await call('GET', path, { limit: MAX_PER_PAGE, cursor }));
        items.push(...page.data);
        cursor = page.next ?? undefined;
      } while (cursor !== undefined);
      return items;
    },
    stream: async function* (path, query) {
      const { body } = await send('GET', path, query, {});
      const decoder = new TextDecoder();
      try {
        for await (const piece of body ?? []) yield decoder.decode(piece, { stream: true });
      } catch {
        throw new CommandError('The response was cut off. The output is incomplete.');
      }
    },
  };
}
