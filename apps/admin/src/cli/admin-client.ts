import { z } from 'zod';

/** Something that a person can do something about. Exit code 1. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

/** A key as the admin API shows it. Members that we do not print are left alone. */
const ShownKey = z.looseObject({
  id: z.string(),
  name: z.string(),
  team: z.string().nullable(),
  models: z.array(z.string()).nullable(),
  endpoints: z.array(z.string()).nullable(),
  createdAt: z.string(),
  expiresAt: z.string().nullable(),
  revokedAt: z.string().nullable(),
  disabled: z.boolean(),
});
export type ShownKey = z.infer<typeof ShownKey>;

const CreatedKey = ShownKey.extend({ key: z.string() });
export type CreatedKey = z.infer<typeof CreatedKey>;
const KeyPage = z.looseObject({ data: z.array(ShownKey), next: z.string().nullable() });
const AdminError = z.object({
  error: z.object({ code: z.string(), message: z.string(), path: z.string().nullable() }),
});

export interface AdminClient {
  createKey(key: Readonly<Record<string, unknown>>): Promise<CreatedKey>;
  listKeys(): Promise<ShownKey[]>;
  revokeKey(id: string): Promise<ShownKey>;
}

interface AdminClientOptions {
  readonly url: string;
  readonly token: string;
  /** Where the token comes from, for the message when it is wrong. */
  readonly tokenSource: string;
  readonly fetch: typeof fetch;
}

const TIMEOUT_MS = 15_000;

/** The admin API for a program on the command line. Every function throws `CommandError`. */
export function createAdminClient({ url, token, tokenSource, fetch }: AdminClientOptions): AdminClient {
  const call = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const content = body === undefined ? null : JSON.stringify(body);
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(new URL(path, url), { method, headers, body: content, signal }).catch(() => {
      throw new CommandError(
        `The admin service does not answer at ${url}. Start the gateway with npm start, or set ADMIN_URL.`,
      );
    });
    if (response.status === 401)
      throw new CommandError(
        `The admin service at ${url} refused the token from ${tokenSource}. Set GATEWAY_ADMIN_TOKEN to the one it was started with.`,
      );
    const value = await response.json().catch(() => undefined);
    if (response.ok) return value;
    const { data } = AdminError.safeParse(value);
    if (data === undefined)
      throw new CommandError(`${url} answered ${response.status}, and not as the admin service does.`);
    throw new CommandError(data.error.message);
  };

  return {
    createKey: async (key) => CreatedKey.parse(await call('POST', '/admin/v1/keys', key)),
    listKeys: async () => {
      const keys: ShownKey[] = [];
      let cursor: string | null = '';
      while (cursor !== null) {
        const query: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
        const page = KeyPage.parse(await call('GET', `/admin/v1/keys?limit=200${query}`));
        keys.push(...page.data);
        cursor = page.next;
      }
      return keys;
    },
    revokeKey: async (id) => ShownKey.parse(await call('DELETE', `/admin/v1/keys/${encodeURIComponent(id)}`)),
  };
}
