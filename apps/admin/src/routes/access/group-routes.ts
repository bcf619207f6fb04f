import { GatewayError } from '@gateway/contracts/gateway-error';
import type { PeopleStore } from '@gateway/records/people/people-store';
import { z } from 'zod';
import { type AdminRoute, adminRoute, NO_BODY, NO_QUERY } from '../../api/admin-route.ts';
import { GroupPreviewReply, GroupRule, GroupRuleList } from '../../api/schemas/access.ts';
import { checkGrant } from '../../people/manages.ts';
import { PersonRole, RoleTeams } from '../../people/person.ts';
import type { RoleMapping } from '../../sessions/oidc/oidc-settings.ts';
import { rightsOfClaims } from '../../sessions/oidc/person-of-claims.ts';

interface GroupRoutesOptions {
  readonly people: PeopleStore;
  /** Of the environment; null: no identity provider is set. */
  readonly mapping: RoleMapping | null;
}

const Group = z.string().trim().min(1).max(300);
const MAX_GROUPS = 500;

const NewRule = z.strictObject({ group: Group, role: PersonRole, teams: RoleTeams.default([]) });
const Preview = z.strictObject({
  /** What the provider says of a person: the values of the claim of roles. */
  groups: z.array(z.string().max(300)).max(MAX_GROUPS),
});

/** What groups of the identity provider stand for, besides the settings of the environment. */
export function groupRoutes({ people, mapping }: GroupRoutesOptions): AdminRoute[] {
  return [
    adminRoute({
      method: 'GET',
      path: '/admin/v1/group-rules',
      summary: "List what groups of the identity provider stand for, and the environment's own rules",
      query: NO_QUERY,
      body: NO_BODY,
      reply: GroupRuleList,
      handle: async () => ({
        data: (await people.listRules()).map(({ group, role, teams }) => ({ group, role, teams })),
        next: null,
        environment: mapping && {
          roleClaim: mapping.roleClaim,
          adminValues: mapping.adminValues,
          viewerValues: mapping.viewerValues,
          teamClaim: mapping.teams?.claim ?? null,
          teamPrefix: mapping.teams?.prefix ?? null,
        },
      }),
    }),
    adminRoute({
      method: 'POST',
      path: '/admin/v1/group-rules',
      summary: 'Set what a group stands for; it counts at the next sign-in of its people',
      query: NO_QUERY,
      body: NewRule,
      reply: GroupRule,
      handle: async ({ body, by, principal }) => {
        checkGrant(principal, body);
        await people.putRule(body, by);
        return body;
      },
    }),
    adminRoute({
      method: 'DELETE',
      path: '/admin/v1/group-rules/{group}',
      summary: 'Delete the rule of a group',
      query: NO_QUERY,
      body: NO_BODY,
      reply: z.strictObject({ group: z.string() }),
      handle: async ({ parameter: group, by }) => {
        if (!(await people.deleteRule(group, by)))
          throw new GatewayError('object_not_found', `There is no rule for the group '${group}'.`);
        return { group };
      },
    }),
    adminRoute({
      method: 'POST',
      path: '/admin/v1/group-rules/preview',
      summary: 'What a person of these groups would be',
      query: NO_QUERY,
      body: Preview,
      reply: GroupPreviewReply,
      handle: async ({ body: { groups } }) => {
        if (mapping === null)
          throw new GatewayError(
            'object_not_found',
            'No identity provider is configured: OIDC_ISSUER is not set.',
          );
        const claims = {
          [mapping.roleClaim]: groups,
          ...(mapping.teams && { [mapping.teams.claim]: groups }),
        };
        const rights = rightsOfClaims(claims, mapping, await people.listRules());
        return {
          role: rights?.role ?? null,
          teams: rights?.scope.kind === 'teams' ? rights.scope.teams : [],
          because: rights?.because ?? [],
        };
      },
    }),
  ];
}
