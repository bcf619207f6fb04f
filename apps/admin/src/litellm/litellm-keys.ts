import { z } from 'zod';
import { CommandError } from '../cli/admin-client.ts';

/** Keys and teams as a running LiteLLM lists them. Source: its `/key/list` and `/team/list`, 2026. */

const Count = z.number().nullish();
const uses = {
  models: z.array(z.string()).nullish(),
  max_budget: z.number().nullish(),
  budget_duration: z.string().nullish(),
  tpm_limit: Count,
  rpm_limit: Count,
  max_parallel_requests: Count,
  blocked: z.boolean().nullish(),
  metadata: z.record(z.string(), z.unknown()).nullish(),
};

export const LitellmKey = z.looseObject({
  ...uses,
  /** The hash of the key; never the key. */
  token: z.string().min(1),
  key_alias: z.string().nullish(),
  key_name: z.string().nullish(),
  expires: z.string().nullish(),
  team_id: z.string().nullish(),
  user_id: z.string().nullish(),
});
export type LitellmKey = z.infer<typeof LitellmKey>;

export const LitellmTeam = z.looseObject({
  ...uses,
  team_id: z.string().min(1),
  team_alias: z.string().nullish(),
});
export type LitellmTeam = z.infer<typeof LitellmTeam>;

const KeyPage = z.looseObject({ keys: z.array(z.unknown()), total_pages: z.number() });
const TeamList = z.union([
  z.array(z.unknown()),
  z.looseObject({ teams: z.array(z.unknown()) }).transform(({ teams }) => teams),
]);

const PER_PAGE = 100;
const MAX_PAGES = 1000;
const TIMEOUT_MS = 30_000;

interface Source {
  /** Of the running LiteLLM. */
  readonly url: URL;
  /** Its master key. */
  readonly token: string;
  readonly fetch: typeof fetch;
}

/** @throws {CommandError} in a sentence */
export async function readLitellmKeys(source: Source) {
  const teams = entries(LitellmTeam, await ask(source, 'team/list', {}, TeamList), 'team');
  const keys: LitellmKey[] = [];
  for (let page = 1, pages = 1; page <= pages; page += 1) {
    const query = {
      return_full_object: 'true',
      include_team_keys: 'true',
      size: `${PER_PAGE}`,
      page: `${page}`,
    };
    const answer = await ask(source, 'key/list', query, KeyPage);
    keys.push(...entries(LitellmKey, answer.keys, 'key'));
    pages = Math.min(answer.total_pages, MAX_PAGES);
  }
  return { teams, keys };
}

const entries = <Entry>(schema: z.ZodType<Entry>, list: readonly unknown[], what: string): Entry[] =>
  list.map((entry) => {
    const read = schema.safeParse(entry);
    if (read.success) return read.data;
    const [first] = read.error.issues;
    throw new CommandError(
      `LiteLLM lists a ${what} in a form that the import does not know: ${first?.path.join('.')} (${first?.message}).`,
    );
  });

async function ask<Answer>(
  { url, token, fetch }: Source,
  path: string,
  query: Readonly<Record<string, string>>,
  schema: z.ZodType<Answer>,
): Promise<Answer> {
  const target = new URL(path, url.href.endsWith('/') ? url : `${url.href}/`);
  target.search = `${new URLSearchParams(query)}`;
  const place = `${target.origin}${target.pathname}`;
  const response = await fetch(target, {
    headers: { authorization: `Bearer ${token}` },
    // The token goes to the address that was named, and to no other.
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch(() => {
    throw new CommandError(`LiteLLM does not respond at ${place}.`);
  });
  if (response.status === 401 || response.status === 403)
    throw new CommandError(`LiteLLM refused the token at ${place}: it takes its master key.`);
  if (!response.ok) throw new CommandError(`LiteLLM responded with status ${response.status} at ${place}.`);
  const { data, success } = schema.safeParse(await response.json().catch(() => undefined));
  if (!success) throw new CommandError(`What responds at ${place} is not LiteLLM.`);
  return data;
}
