import { z } from 'zod';

/**
 * What a person may do: `admin` everything, `viewer` only look, `team-lead` look at its own teams and manage their keys and members,
 * `team-member` look at its own teams, `key-holder` look at what one key used and has left.
 */
export const Role = z.enum(['admin', 'viewer', 'team-lead', 'team-member', 'key-holder']);
export type Role = z.infer<typeof Role>;

/** What a page says of each role. */
export const ROLE_TEXTS: Readonly<Record<Role, { readonly about: string; readonly sees: string }>> = {
  admin: { about: 'Everything, including people, channels and teams', sees: 'The whole gateway' },
  viewer: { about: 'Looks, and changes nothing', sees: 'The whole gateway' },
  'team-lead': { about: 'Manages the keys and the members of its teams', sees: 'Its teams' },
  'team-member': { about: 'Looks, and changes nothing', sees: 'Its teams' },
  'key-holder': { about: 'Looks, and uses its key in the playground', sees: 'Its key' },
};

/** Who may make a call; `anyone` needs no sign-in. */
export type Access = 'anyone' | readonly Role[];

const ADMIN: Access = ['admin'];
const LEADS: Access = ['admin', 'team-lead'];
/** Those who see the whole gateway. */
const OVERSEERS: readonly Role[] = ['admin', 'viewer'];
const OVERSEERS_AND_TEAMS: Access = ['admin', 'viewer', 'team-lead', 'team-member'];
const SIGNED_IN: Access = Role.options;

/**
 * Who may make which call of the admin API. A call that is not in this table cannot be mounted, so a new one has to decide.
 * A `team-lead`, `team-member` or `key-holder` sees a part only: the handler of a call that it may make selects by `sessions/scope.ts`.
 */
const PERMISSIONS: Readonly<Record<string, Access>> = {
  'GET /admin/v1/openapi.json': SIGNED_IN,

  'GET /admin/v1/sign-in': 'anyone',
  'GET /admin/v1/session/oidc': 'anyone',
  'GET /admin/v1/session/oidc/callback': 'anyone',
  'POST /admin/v1/session': 'anyone',
  'GET /admin/v1/session': SIGNED_IN,
  'DELETE /admin/v1/session': SIGNED_IN,
  'DELETE /admin/v1/session/others': SIGNED_IN,
  'POST /admin/v1/session/password': SIGNED_IN,
  'POST /admin/v1/password-link': 'anyone',
  'POST /admin/v1/password': 'anyone',
  'GET /admin/v1/sessions': ADMIN,
  'DELETE /admin/v1/sessions/{id}': ADMIN,

  'GET /admin/v1/roles': SIGNED_IN,
  'GET /admin/v1/people': LEADS,
  'POST /admin/v1/people': LEADS,
  'GET /admin/v1/people/{id}': LEADS,
  'PATCH /admin/v1/people/{id}': LEADS,
  'DELETE /admin/v1/people/{id}': LEADS,
  'POST /admin/v1/people/{id}/link': LEADS,
  'DELETE /admin/v1/people/{id}/link': LEADS,
  'POST /admin/v1/people/{id}/sign-out': LEADS,
  'GET /admin/v1/group-rules': ADMIN,
  'POST /admin/v1/group-rules': ADMIN,
  'POST /admin/v1/group-rules/preview': ADMIN,
  'DELETE /admin/v1/group-rules/{group}': ADMIN,

  'GET /admin/v1/gateway': SIGNED_IN,

  'GET /admin/v1/keys': SIGNED_IN,
  'GET /admin/v1/key-balances': SIGNED_IN,
  'GET /admin/v1/keys/{id}': SIGNED_IN,
  'GET /admin/v1/keys/{id}/balance': SIGNED_IN,
  'POST /admin/v1/keys': LEADS,
  'PATCH /admin/v1/keys/{id}': LEADS,
  'DELETE /admin/v1/keys/{id}': LEADS,
  'POST /admin/v1/keys/{id}/rotate': LEADS,
  'POST /admin/v1/keys/{id}/webhook-secret': LEADS,

  'GET /admin/v1/teams': OVERSEERS_AND_TEAMS,
  'GET /admin/v1/teams/{name}': OVERSEERS_AND_TEAMS,
  'GET /admin/v1/teams/{name}/balance': OVERSEERS_AND_TEAMS,
  'POST /admin/v1/teams': ADMIN,
  'PATCH /admin/v1/teams/{name}': ADMIN,
  'DELETE /admin/v1/teams/{name}': ADMIN,

  'GET /admin/v1/search': OVERSEERS_AND_TEAMS,

  'GET /admin/v1/usage': SIGNED_IN,
  'GET /admin/v1/usage/records': SIGNED_IN,
  'GET /admin/v1/requests': SIGNED_IN,
  'GET /admin/v1/requests/tail': SIGNED_IN,
  'GET /admin/v1/requests/{id}': SIGNED_IN,
  // Of these, the configuration says who besides admins.
  'GET /admin/v1/requests/{id}/content': ['admin', 'viewer', 'team-lead'],
  'GET /admin/v1/requests/{id}/conversation': ['admin', 'viewer', 'team-lead'],
  'DELETE /admin/v1/requests/{id}/content': ADMIN,
  'DELETE /admin/v1/content': ADMIN,

  'GET /admin/v1/audit': OVERSEERS,

  'GET /admin/v1/channels': OVERSEERS,
  'POST /admin/v1/channels/{name}/rest': ADMIN,
  'POST /admin/v1/channels/{name}/wake': ADMIN,
  'POST /admin/v1/channels/{name}/test': ADMIN,
  'GET /admin/v1/models': SIGNED_IN,

  'GET /admin/v1/configuration': OVERSEERS,
  'POST /admin/v1/configuration/check': OVERSEERS,
  'GET /admin/v1/configuration/providers': OVERSEERS,
  // They send requests from the gateway's machine.
  'POST /admin/v1/configuration/providers/try': ADMIN,
  'GET /admin/v1/configuration/model-servers': ADMIN,
  // It shows comments, too.
  'POST /admin/v1/configuration/draft': ADMIN,
  'POST /admin/v1/configuration/draft/costs': ADMIN,
  'POST /admin/v1/configuration/draft/try': ADMIN,
  'GET /admin/v1/configuration/revisions': OVERSEERS,
  'GET /admin/v1/configuration/revisions/{number}': ADMIN,
  'POST /admin/v1/configuration/revisions': ADMIN,
  'POST /admin/v1/configuration/revisions/{number}/restore': ADMIN,
  'GET /admin/v1/attention': OVERSEERS_AND_TEAMS,
  'GET /admin/v1/alerts': OVERSEERS,
  'POST /admin/v1/alerts/receivers/{name}/test': ADMIN,

  'GET /admin/v1/queues': OVERSEERS,
  'GET /admin/v1/jobs': OVERSEERS_AND_TEAMS,
  'GET /admin/v1/jobs/{id}': OVERSEERS_AND_TEAMS,
  'GET /admin/v1/jobs/{id}/lines': OVERSEERS_AND_TEAMS,
  'POST /admin/v1/jobs/{id}/cancel': ADMIN,
  'POST /admin/v1/jobs/{id}/requeue': ADMIN,

  // Stands for every call of the public API; `mayUseKey` says under which keys.
  'POST /admin/v1/playground': ['admin', 'team-lead', 'key-holder'],

  'GET /admin/v1/webhooks': OVERSEERS,
  'GET /admin/v1/webhooks/{id}': OVERSEERS,
  'POST /admin/v1/webhooks/{id}/replay': ADMIN,
};

/** @throws {Error} for a call that is not in the table */
export function accessOf({ method, path }: { method: string; path: string }): Access {
  const access = PERMISSIONS[`${method} ${path}`];
  if (access === undefined) throw new Error(`sessions/roles.ts does not say who may ${method} ${path}`);
  return access;
}

/** The calls that a role may make, as `METHOD path`, also those that anyone may. */
export const callsOf = (role: Role): string[] =>
  Object.entries(PERMISSIONS)
    .filter(([, access]) => access === 'anyone' || access.includes(role))
    .map(([call]) => call);

/** Whether a role sees the whole gateway. */
export const isOverseer = (role: Role): boolean => OVERSEERS.includes(role);
