import { z } from 'zod';

/** What a person may do: `admin` everything, `viewer` only look. */
export const Role = z.enum(['admin', 'viewer']);
export type Role = z.infer<typeof Role>;

/** Who may make a call; `anyone` needs no sign-in. */
export type Access = 'anyone' | readonly Role[];

const SIGNED_IN: Access = ['admin', 'viewer'];
const ADMIN: Access = ['admin'];

/**
 * Who may make which call of the admin API. A call that is not in this table cannot be mounted, so a new one has to decide.
 * A role that sees only a part, such as one team's keys, needs its handler to select that part as well.
 */
const PERMISSIONS: Readonly<Record<string, Access>> = {
  'GET /admin/v1/openapi.json': SIGNED_IN,

  'POST /admin/v1/session': 'anyone',
  'GET /admin/v1/session': SIGNED_IN,
  'DELETE /admin/v1/session': SIGNED_IN,
  'GET /admin/v1/sessions': ADMIN,
  'DELETE /admin/v1/sessions/{id}': ADMIN,

  'GET /admin/v1/gateway': SIGNED_IN,

  'GET /admin/v1/keys': SIGNED_IN,
  'GET /admin/v1/key-balances': SIGNED_IN,
  'GET /admin/v1/keys/{id}': SIGNED_IN,
  'GET /admin/v1/keys/{id}/balance': SIGNED_IN,
  'POST /admin/v1/keys': ADMIN,
  'PATCH /admin/v1/keys/{id}': ADMIN,
  'DELETE /admin/v1/keys/{id}': ADMIN,
  'POST /admin/v1/keys/{id}/rotate': ADMIN,
  'POST /admin/v1/keys/{id}/webhook-secret': ADMIN,

  'GET /admin/v1/teams': SIGNED_IN,
  'GET /admin/v1/teams/{name}': SIGNED_IN,
  'GET /admin/v1/teams/{name}/balance': SIGNED_IN,
  'POST /admin/v1/teams': ADMIN,
  'PATCH /admin/v1/teams/{name}': ADMIN,
  'DELETE /admin/v1/teams/{name}': ADMIN,

  'GET /admin/v1/usage': SIGNED_IN,
  'GET /admin/v1/usage/records': SIGNED_IN,
  'GET /admin/v1/requests': SIGNED_IN,
  'GET /admin/v1/requests/tail': SIGNED_IN,
  'GET /admin/v1/requests/{id}': SIGNED_IN,

  'GET /admin/v1/audit': SIGNED_IN,

  'GET /admin/v1/channels': SIGNED_IN,
  'POST /admin/v1/channels/{name}/rest': ADMIN,
  'POST /admin/v1/channels/{name}/wake': ADMIN,
  'GET /admin/v1/models': SIGNED_IN,

  'GET /admin/v1/configuration': SIGNED_IN,
  'POST /admin/v1/configuration/check': SIGNED_IN,
  'GET /admin/v1/attention': SIGNED_IN,

  'GET /admin/v1/queues': SIGNED_IN,
  'GET /admin/v1/jobs': SIGNED_IN,
  'POST /admin/v1/jobs/{id}/requeue': ADMIN,

  'GET /admin/v1/webhooks': SIGNED_IN,
  'GET /admin/v1/webhooks/{id}': SIGNED_IN,
  'POST /admin/v1/webhooks/{id}/replay': ADMIN,
};

/** @throws {Error} for a call that is not in the table */
export function accessOf({ method, path }: { method: string; path: string }): Access {
  const access = PERMISSIONS[`${method} ${path}`];
  if (access === undefined) throw new Error(`sessions/roles.ts does not say who may ${method} ${path}`);
  return access;
}
