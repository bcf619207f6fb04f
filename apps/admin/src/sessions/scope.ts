import { z } from 'zod';
import type { Role } from './roles.ts';

export const MAX_TEAMS = 100;

/** The part of the gateway that a person sees: all of it, some teams with their keys, or one key. */
export const Scope = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('all') }),
  z.strictObject({ kind: z.literal('teams'), teams: z.array(z.string()).max(MAX_TEAMS) }),
  z.strictObject({ kind: z.literal('key'), keyId: z.string() }),
]);
export type Scope = z.infer<typeof Scope>;

export const ALL: Scope = { kind: 'all' };

/** A key as far as it matters here; its record is one. */
interface ScopedKey {
  readonly id: string;
  readonly team: string | null;
}

/** Whether a person sees this key. A key that a person does not see answers as one that does not exist. */
export const seesKey =
  (scope: Scope) =>
  ({ id, team }: ScopedKey): boolean =>
    fits(scope, { keyId: id, team });

/** The same for usage: of the team that the key had when the request was made. An empty team is none. */
export const seesUsage =
  (scope: Scope) =>
  (usage: { readonly keyId: string; readonly team: string | null }): boolean =>
    fits(scope, usage);

export const seesTeam = (scope: Scope, name: string): boolean =>
  scope.kind === 'all' || (scope.kind === 'teams' && scope.teams.includes(name));

/** Roles that look only send no requests. */
const USERS_OF_KEYS: readonly Role[] = ['admin', 'team-lead', 'key-holder'];

/** Whether a person may send requests with this key, such as in the playground, without having its secret. */
export const mayUseKey = (
  { role, scope }: { readonly role: Role; readonly scope: Scope },
  key: ScopedKey,
): boolean => USERS_OF_KEYS.includes(role) && seesKey(scope)(key);

function fits(
  scope: Scope,
  { keyId, team }: { readonly keyId: string; readonly team: string | null },
): boolean {
  if (scope.kind === 'all') return true;
  return scope.kind === 'key' ? scope.keyId === keyId : team !== null && scope.teams.includes(team);
}
