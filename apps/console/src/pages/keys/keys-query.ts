import { infiniteQueryOptions, type QueryClient, queryOptions } from '@tanstack/react-query';
import { api, bodyOf } from '../../api/client.ts';
import { PAGED_LIST } from '../../api/paged-list.ts';
import type { Balance, Key, ListedKey } from '../../api/types.ts';
import type { KeyState } from './key-state.tsx';

export interface KeyFilter {
  readonly search?: string | undefined;
  readonly team?: string | undefined;
  readonly state?: KeyState | undefined;
  readonly sort?: KeySort | undefined;
  readonly isAscending?: boolean | undefined;
}

/** What lists of keys are sorted by. */
export const KEY_SORTS = ['created', 'lastUsed', 'requests', 'spend'] as const;
export type KeySort = (typeof KEY_SORTS)[number];

interface KeyPages {
  readonly pages: { data: ListedKey[]; next: string | null }[];
  readonly pageParams: unknown[];
}

const KEYS_AT_ONCE = 100;

/** The keys that a filter selects, the newest first or as they are sorted, a page at a time. */
export const keysQuery = ({ search, team, state, sort, isAscending = false }: KeyFilter) =>
  infiniteQueryOptions({
    queryKey: ['keys', { search, team, state, sort, isAscending }],
    queryFn: ({ pageParam }) =>
      bodyOf(
        api.GET('/admin/v1/keys', {
          params: {
            query: {
              limit: KEYS_AT_ONCE,
              ...(pageParam !== '' && { cursor: pageParam }),
              ...(search && { search }),
              ...(team && { team }),
              ...(state && { state }),
              ...(sort && { sort }),
              ...(isAscending && { order: 'ascending' as const }),
            },
          },
        }),
      ),
    ...PAGED_LIST,
  });

export const keyQuery = (id: string) =>
  queryOptions({
    queryKey: ['key', id],
    queryFn: () => bodyOf(api.GET('/admin/v1/keys/{id}', { params: { path: { id } } })),
  });

/** Names are read one by one: of more keys the ids have to do. */
const MAX_NAMED = 500;
const NAMED_AT_ONCE = 20;

/** The names of these keys, as far as they are known, by their ids. */
export async function readKeyNames(
  queries: QueryClient,
  keyIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const ids = [...new Set(keyIds)].slice(0, MAX_NAMED);
  const names = new Map<string, string>();
  for (let at = 0; at < ids.length; at += NAMED_AT_ONCE)
    await Promise.all(
      ids.slice(at, at + NAMED_AT_ONCE).map(async (id) => {
        const key = await queries.ensureQueryData(keyQuery(id)).catch(() => undefined);
        if (key !== undefined) names.set(id, key.name);
      }),
    );
  return names;
}

export const keyBalanceQuery = (id: string) =>
  queryOptions({
    queryKey: ['key-balance', id],
    queryFn: () => bodyOf(api.GET('/admin/v1/keys/{id}/balance', { params: { path: { id } } })),
  });

/** What is left of the budgets of these keys, by their ids. */
export const budgetsQuery = (keys: readonly Key[]) => {
  const ids = keys.flatMap(({ id, budget }) => (budget === null ? [] : [id])).join(',');
  return queryOptions({
    queryKey: ['key-balances', ids],
    enabled: ids !== '',
    queryFn: async () => {
      const { data } = await bodyOf(api.GET('/admin/v1/key-balances', { params: { query: { ids } } }));
      return Object.fromEntries(data.map(({ id, budget }) => [id, budget]));
    },
  });
};
export type BudgetBalance = NonNullable<Balance['budget']>;

/** Shows a change of a key wherever it is shown, without asking for the lists again. */
export async function keyChanged(queries: QueryClient, key: Key): Promise<void> {
  queries.setQueryData(keyQuery(key.id).queryKey, key);
  queries.setQueriesData({ queryKey: ['keys'] }, (pages: KeyPages | undefined) =>
    pages === undefined
      ? pages
      : {
          ...pages,
          pages: pages.pages.map((page) => ({
            ...page,
            data: page.data.map((one) => (one.id === key.id ? { ...one, ...key } : one)),
          })),
        },
  );
  await queries.invalidateQueries({ queryKey: ['key-balance', key.id] });
  await queries.invalidateQueries({ queryKey: ['key-balances'] });
}
