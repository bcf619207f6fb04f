import { GatewayError } from '@gateway/contracts/gateway-error';
import { Limits } from '@gateway/contracts/identity';
import type { KeyStore } from '@gateway/metering/keys/key-store';
import { KEY_STATES } from '@gateway/metering/keys/records/access-records';
import { TEAM_NAME, TeamSettings } from '@gateway/metering/keys/settings';
import {
  accountOfTeam,
  type ShownTeam,
  shownTeam,
  type TeamRecord,
} from '@gateway/metering/teams/team-record';
import type { TeamStore } from '@gateway/metering/teams/team-store';
import { z } from 'zod';
import { type AdminRoute, adminRoute, NO_BODY, NO_QUERY } from '../../api/admin-route.ts';
import { mergePatch, nullableLimits } from '../../api/merge-patch.ts';
import { BalanceReply, TeamPage, TeamReply } from '../../api/schemas/access.ts';
import { pageQuery } from '../../api/schemas/page.ts';
import type { ReadShownBalances } from '../../keys/balances.ts';
import { checkTeamSettings, teamSettingsOf } from '../../keys/settings.ts';
import { type Scope, seesTeam } from '../../sessions/scope.ts';

const { budget } = TeamSettings.shape;
/** Every member may be left out, or be null, which removes it. */
const TeamPatch = z.strictObject({
  budget: budget.nullable(),
  limits: nullableLimits(Limits.shape).nullish(),
});

interface TeamRoutesOptions {
  readonly teams: TeamStore;
  readonly keys: KeyStore;
  readonly now: () => number;
  readonly readBalances: ReadShownBalances;
}

/** Make, list, read, change and delete teams. A key is a member by naming the team. */
export function teamRoutes({ teams, keys, now, readBalances }: TeamRoutesOptions): AdminRoute[] {
  const getTeam = async (name: string, scope: Scope): Promise<TeamRecord> =>
    found(seesTeam(scope, name) ? await teams.getTeam(name) : undefined, name);

  /** Few: they need no pages. A session may name teams that nobody has made. */
  const ownTeams = async (scope: Scope): Promise<ShownTeam[]> => {
    const names = scope.kind === 'teams' ? scope.teams : [];
    const records = await Promise.all(names.toSorted().map(teams.getTeam));
    return records.filter((record) => record !== undefined).map(shownTeam);
  };

  return [
    adminRoute({
      method: 'POST',
      path: '/admin/v1/teams',
      summary: 'Create a team, with limits and a budget in addition to those of its keys',
      query: NO_QUERY,
      body: z.unknown(),
      describedAs: TeamSettings,
      status: 201,
      reply: TeamReply,
      handle: async ({ body, by }) => shownTeam(await teams.createTeam(checkTeamSettings(body), by)),
    }),
    adminRoute({
      method: 'GET',
      path: '/admin/v1/teams',
      summary: 'List teams by name',
      body: NO_BODY,
      query: pageQuery(TEAM_NAME),
      reply: TeamPage,
      handle: async ({ query: { limit, cursor }, principal: { scope } }) => {
        if (scope.kind !== 'all') return { data: await ownTeams(scope), next: null };
        const page = await teams.listTeams({ limit, after: cursor });
        return { data: page.teams.map(shownTeam), next: page.next };
      },
    }),
    adminRoute({
      method: 'GET',
      path: '/admin/v1/teams/{name}',
      summary: 'Read a team',
      query: NO_QUERY,
      body: NO_BODY,
      reply: TeamReply,
      handle: async ({ parameter: name, principal: { scope } }) => shownTeam(await getTeam(name, scope)),
    }),
    adminRoute({
      method: 'PATCH',
      path: '/admin/v1/teams/{name}',
      summary: 'Update a team; takes effect everywhere within a second',
      query: NO_QUERY,
      body: z.unknown(),
      describedAs: TeamPatch,
      reply: TeamReply,
      handle: async ({ parameter: name, body, by }) => {
        const changed = await teams.updateTeam(
          name,
          (record) => {
            const settings = checkTeamSettings(mergePatch(teamSettingsOf(shownTeam(record)), body));
            if (settings.name !== name) throw renamed();
            return settings;
          },
          by,
        );
        return shownTeam(found(changed, name));
      },
    }),
    adminRoute({
      method: 'DELETE',
      path: '/admin/v1/teams/{name}',
      summary: 'Delete a team without active keys',
      query: NO_QUERY,
      body: NO_BODY,
      reply: TeamReply,
      handle: async ({ parameter: name, by }) => {
        await checkUnused(name, keys, now());
        return shownTeam(found(await teams.deleteTeam(name, by), name));
      },
    }),
    adminRoute({
      method: 'GET',
      path: '/admin/v1/teams/{name}/balance',
      summary: "Read what remains of a team's own limits and budget",
      query: NO_QUERY,
      body: NO_BODY,
      reply: BalanceReply,
      handle: async ({ parameter: name, principal: { scope } }) => {
        const [balance] = await readBalances([accountOfTeam(await getTeam(name, scope))]);
        return balance;
      },
    }),
  ];
}

function found<T>(value: T | undefined, name: string): T {
  if (value !== undefined) return value;
  throw new GatewayError('object_not_found', `There is no team '${name}'.`);
}

const renamed = (): GatewayError =>
  new GatewayError('invalid_value', {
    message: "Invalid value for 'name': a team cannot be renamed. Create another team and move the keys.",
    path: ['name'],
  });

/** Deleting a team removes its limits from its keys, so it needs a team without working keys. */
async function checkUnused(name: string, keys: KeyStore, nowMs: number): Promise<void> {
  const states = { of: KEY_STATES.filter((state) => state !== 'revoked'), nowMs };
  const { keys: members } = await keys.listKeys({ limit: 1, only: { teams: [name], states } });
  const [member] = members;
  if (member !== undefined)
    throw new GatewayError(
      'conflict',
      `The team '${name}' has keys, such as '${member.id}'. Revoke them or change their team first.`,
    );
}
