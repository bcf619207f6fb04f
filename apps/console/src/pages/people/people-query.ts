import { infiniteQueryOptions, type QueryClient, queryOptions } from '@tanstack/react-query';
import { api, bodyOf } from '../../api/client.ts';
import { PAGED_LIST } from '../../api/paged-list.ts';
import type { Person } from '../../api/types.ts';

export const PERSON_STATES = ['invited', 'active', 'disabled'] as const;

export interface PeopleFilter {
  readonly search?: string | undefined;
  readonly state?: Person['state'] | undefined;
  readonly team?: string | undefined;
}

const PEOPLE_AT_ONCE = 100;

/** The people that a filter selects, the newest first, a page at a time. */
export const peopleQuery = ({ search, state, team }: PeopleFilter) =>
  infiniteQueryOptions({
    queryKey: ['people', { search, state, team }],
    queryFn: ({ pageParam }) =>
      bodyOf(
        api.GET('/admin/v1/people', {
          params: {
            query: {
              limit: PEOPLE_AT_ONCE,
              ...(pageParam !== '' && { cursor: pageParam }),
              ...(search && { q: search }),
              ...(state && { state }),
              ...(team && { team }),
            },
          },
        }),
      ),
    ...PAGED_LIST,
  });

export const personQuery = (id: string) =>
  queryOptions({
    queryKey: ['person', id],
    queryFn: () => bodyOf(api.GET('/admin/v1/people/{id}', { params: { path: { id } } })),
  });

export async function personChanged(queries: QueryClient, person: Person): Promise<void> {
  queries.setQueryData(personQuery(person.id).queryKey, person);
  await queries.invalidateQueries({ queryKey: ['people'] });
}

/** What groups of the identity provider stand for. */
export const groupRulesQuery = queryOptions({
  queryKey: ['group-rules'],
  queryFn: () => bodyOf(api.GET('/admin/v1/group-rules')),
});
