import { jsonIn } from '@gateway/contracts/json/json-object';
import { z } from 'zod';
import type { Account, Channel } from '../configuration/configuration.ts';
import type { ModelList } from '../configuration/presets/preset.ts';
import { askAccount, type Failure } from './ask-account.ts';

/** What an account's provider says when it is asked for its models. */
export type ListedModels =
  | { readonly outcome: 'listed'; readonly names: readonly string[] }
  /** Its provider has no list for keys of this kind, so nothing was asked. */
  | { readonly outcome: 'unlisted' }
  /** The key is valid, and the list has no names that requests can use. */
  | { readonly outcome: 'accepted' }
  | Failure;

/** The members of a list that some servers leave out where it is empty. */
const FORMS = {
  data: z
    .object({ data: z.array(z.object({ id: z.string() })).nullable() })
    .transform(({ data }) => (data ?? []).map(({ id }) => id)),
  models: z
    .object({ models: z.array(z.object({ name: z.string() })).nullable() })
    // Google's names stand below `models/`.
    .transform(({ models }) => (models ?? []).map(({ name }) => name.replace(/^models\//, ''))),
} as const satisfies Record<ModelList['form'], z.ZodType<string[]>>;

/**
 * Asks an account's provider for its models: the cheapest request that needs a valid key. Never rejects, and takes 10 s at most.
 */
export async function listModels(channel: Channel, account: Account): Promise<ListedModels> {
  const { modelList } = channel;
  if (modelList === null) return { outcome: 'unlisted' };
  const reply = await askAccount(channel, account, { method: 'GET', path: modelList.path, body: null });
  // An address in between may lead to deployments alone.
  if ('status' in reply && modelList.isCatalogue && reply.status === 404) return { outcome: 'unlisted' };
  if (reply.outcome !== 'answered') return reply;
  const { data: names } = FORMS[modelList.form].safeParse(jsonIn(reply.text));
  if (names !== undefined && modelList.isCatalogue) return { outcome: 'accepted' };
  return names === undefined
    ? {
        outcome: 'failed',
        reason: 'It answered with something else than a list of models: check baseUrl and provider.',
      }
    : { outcome: 'listed', names };
}
