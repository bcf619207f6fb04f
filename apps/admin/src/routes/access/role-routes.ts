import { type AdminRoute, adminRoute, NO_BODY, NO_QUERY } from '../../api/admin-route.ts';
import { RolesReply } from '../../api/schemas/access.ts';
import { accessOf, ROLE_TEXTS, Role } from '../../sessions/roles.ts';

/** Who may make which call: from the table by which calls are refused. */
export function withRoles(routes: readonly AdminRoute[]): readonly AdminRoute[] {
  const shownCall = ({ method, path, description: { summary } }: AdminRoute) => {
    const access = accessOf({ method, path });
    return { method, path, summary, roles: access === 'anyone' ? [] : access };
  };
  const own: AdminRoute = adminRoute({
    method: 'GET',
    path: '/admin/v1/roles',
    summary: 'Which role may make which call, and what it sees',
    query: NO_QUERY,
    body: NO_BODY,
    reply: RolesReply,
    handle: async () => ({
      roles: Role.options.map((name) => ({ name, ...ROLE_TEXTS[name] })),
      calls: all.map(shownCall),
    }),
  });
  const all: readonly AdminRoute[] = [...routes, own];
  return all;
}
