import { GatewayError } from '@gateway/contracts/gateway-error';
import type { PersonRecord } from '@gateway/records/people/people-store';
import type { Principal } from '../sessions/authenticate.ts';
import type { Scope } from '../sessions/scope.ts';
import { isTeamRole, type PersonRole } from './person.ts';

type Rights = Pick<PersonRecord, 'role' | 'teams'>;

/** Whether somebody sees a person: an admin everybody, a team lead those of its teams. */
export const seesPerson = (scope: Scope, { teams }: Pick<Rights, 'teams'>): boolean =>
  scope.kind === 'all' || teams.some((team) => isOwn(scope, team));

/** A person without the teams that are none of the one who looks. */
export const seenPerson = (scope: Scope, person: PersonRecord): PersonRecord => ({
  ...person,
  teams: person.teams.filter((team) => scope.kind === 'all' || isOwn(scope, team)),
});

/** Whether somebody may change a person: an admin everybody, a team lead members of its own teams alone. */
export const managesPerson = ({ scope }: Pick<Principal, 'scope'>, { role, teams }: Rights): boolean =>
  scope.kind === 'all' ||
  (role === 'team-member' && teams.length > 0 && teams.every((team) => isOwn(scope, team)));

/**
 * What somebody may give to another person: nobody gives more than it has itself.
 *
 * @throws {GatewayError} `invalid_value` with the member's path
 */
export function checkGrant(
  { scope }: Pick<Principal, 'scope'>,
  { role, teams }: { readonly role: PersonRole; readonly teams: readonly string[] },
): void {
  if (isTeamRole(role) && teams.length === 0)
    throw refused('teams', `the role ${role} needs at least one team`);
  if (!isTeamRole(role) && teams.length > 0) throw refused('teams', `the role ${role} has no teams`);
  if (scope.kind === 'all') return;
  if (role !== 'team-member') throw refused('role', 'a team lead can add people as team-member');
  const foreign = teams.find((team) => !isOwn(scope, team));
  if (foreign !== undefined)
    throw refused(
      'teams',
      scope.kind === 'teams' ? `name your own teams: ${scope.teams.join(', ')}` : 'none',
    );
}

const isOwn = (scope: Scope, team: string): boolean => scope.kind === 'teams' && scope.teams.includes(team);

const refused = (path: string, reason: string): GatewayError =>
  new GatewayError('invalid_value', { message: `Invalid value for '${path}': ${reason}.`, path: [path] });
