import { createHash, randomBytes } from 'node:crypto';
import { TeamName } from '@gateway/metering/keys/settings';
import type { PersonRecord, PersonState } from '@gateway/records/people/people-store';
import { z } from 'zod';
import { Role } from '../sessions/roles.ts';
import { ALL, MAX_TEAMS, type Scope } from '../sessions/scope.ts';

/** What a person or a group can be given; a key holder signs in with the key. */
export const PersonRole = Role.exclude(['key-holder']);
export type PersonRole = z.infer<typeof PersonRole>;

/** Those that are about some teams. */
export const isTeamRole = (role: string): boolean => role === 'team-lead' || role === 'team-member';

export const PERSON_ID = /^per_[0-9a-z]{9}[0-9a-f]{16}$/;

/** Newer ones sort after older ones. */
export const newPersonId = (nowMs: number): string =>
  `per_${nowMs.toString(36).padStart(9, '0')}${randomBytes(8).toString('hex')}`;

/** Printable ASCII: an address is compared and shown, and looks like no other one. */
export const Email = z
  .string()
  .trim()
  .toLowerCase()
  .max(254)
  .regex(/^[a-z0-9.!#$%&'*+/=?^_{|}~-]+@[a-z0-9-]+(\.[a-z0-9-]+)+$/, 'it must be an e-mail address');

export const PersonName = z.string().trim().min(1).max(100);
export const RoleTeams = z.array(TeamName).max(MAX_TEAMS);

/** How long a link can be used to set a password. */
const LINK_MS = { invitation: 7 * 86_400_000, reset: 86_400_000 } as const;

const TOKEN_BYTES = 32;
export const LINK_TOKEN = /^[\w-]{43}$/;

/** Only the digest is stored: the token cannot be guessed, so it needs no salt. */
export const linkDigest = (token: string): string => createHash('sha256').update(token).digest('base64url');

/** A new link, which takes the place of the one before. */
export function newLink(
  passwordHash: string | null,
  nowMs: number,
): { readonly token: string; readonly link: NonNullable<PersonRecord['link']> } {
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  const expiresAtMs = nowMs + LINK_MS[passwordHash === null ? 'invitation' : 'reset'];
  return { token, link: { digest: linkDigest(token), expiresAtMs } };
}

export const stateOf = ({ isDisabled, passwordHash }: PersonRecord): PersonState =>
  isDisabled ? 'disabled' : passwordHash === null ? 'invited' : 'active';

/** What sessions of a person may do and see now; undefined: there are none any more. */
export function rightsOf(
  person: PersonRecord | undefined,
  epoch: number,
): { readonly role: Role; readonly scope: Scope } | undefined {
  // A newer gateway may know roles that this one does not.
  const role = PersonRole.safeParse(person?.role).data;
  if (person === undefined || role === undefined || person.epoch !== epoch) return undefined;
  if (stateOf(person) !== 'active') return undefined;
  return { role, scope: scopeOf({ role, teams: person.teams }) };
}

export const scopeOf = ({
  role,
  teams,
}: {
  readonly role: PersonRole;
  readonly teams: readonly string[];
}): Scope => (isTeamRole(role) ? { kind: 'teams', teams: [...teams] } : ALL);

const instant = (ms: number): string => new Date(ms).toISOString();

/** A person as the API shows it. */
export const shownPerson = (person: PersonRecord) => ({
  id: person.id,
  email: person.email,
  name: person.name,
  role: person.role,
  teams: [...person.teams],
  state: stateOf(person),
  createdAt: instant(person.createdAtMs),
  lastSignInAt: person.lastSignInAtMs === null ? null : instant(person.lastSignInAtMs),
  linkExpiresAt: person.link === null ? null : instant(person.link.expiresAtMs),
});

/** What the log shows of it. */
export const loggedPerson = (person: PersonRecord): Record<string, unknown> => {
  const { email, name, role, teams, state } = shownPerson(person);
  return { email, name, role, teams, state };
};
