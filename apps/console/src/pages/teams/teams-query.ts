import { queryOptions } from '@tanstack/react-query';
import { api, bodyOf } from '../../api/client.ts';
import type { Team } from '../../api/types.ts';

const TEAMS_AT_ONCE = 200;

/** All teams, by name. */
export const teamsQuery = queryOptions({
  queryKey: ['teams'],
  queryFn: async () => {
    const teams: Team[] = [];
    let cursor: string | undefined;
    do {
      const query = { limit: TEAMS_AT_ONCE, ...(cursor !== undefined && { cursor }) };
      const page = await bodyOf(api.GET('/admin/v1/teams', { params: { query } }));
      teams.push(...page.data);
      cursor = page.next ?? undefined;
    } while (cursor !== undefined);
    return teams;
  },
});

export const teamQuery = (name: string) =>
  queryOptions({
    queryKey: ['team', name],
    queryFn: () => bodyOf(api.GET('/admin/v1/teams/{name}', { params: { path: { name } } })),
  });

export const teamBalanceQuery = (name: string) =>
  queryOptions({
    queryKey: ['team-balance', name],
    queryFn: () => bodyOf(api.GET('/admin/v1/teams/{name}/balance', { params: { path: { name } } })),
  });
