import { TEAM_NAME } from '@gateway/metering/keys/settings';
import type { GroupRule } from '@gateway/records/people/people-store';
import { z } from 'zod';
import { PersonRole } from '../../people/person.ts';
import { ALL, MAX_TEAMS } from '../scope.ts';
import type { Person } from '../sign-in.ts';
import type { RoleMapping } from './oidc-settings.ts';

/** What an identity provider says of a person, by name. */
export type Claims = Readonly<Record<string, unknown>>;

/** The most telling name first. An address counts where the provider has verified it: anybody can write another person's. */
const NAME_CLAIMS = ['email', 'preferred_username', 'name'];
const MAX_NAME_CHARACTERS = 100;
/** Control characters, and marks that turn the direction of text. */
const NOT_PRINTABLE = /\p{C}/gu;
const Texts = z.union([z.string().transform((one) => [one]), z.array(z.string())]).catch([]);
const Members = z.record(z.string(), z.unknown()).catch({});

interface Granted {
  readonly role: PersonRole;
  readonly teams: readonly string[];
  /** The group, and whose rule it is. */
  readonly because: string;
}

interface Rights extends Pick<Person, 'role' | 'scope'> {
  /** What gives the role. */
  readonly because: readonly string[];
}

/** The highest one first. */
const RANKS = ['admin', 'viewer', 'team-lead', 'team-member'] as const satisfies readonly PersonRole[];

/**
 * What a person may do by the claims; null for somebody without a role. Rules of the environment and of the console count alike: the
 * highest role that any of them gives, with the teams of all that give it.
 */
export function rightsOfClaims(
  claims: Claims,
  mapping: RoleMapping,
  rules: readonly GroupRule[] = [],
): Rights | null {
  const granted = [...grantedByEnvironment(claims, mapping), ...grantedByRules(claims, mapping, rules)];
  const role = RANKS.find((rank) => granted.some((one) => one.role === rank));
  if (role === undefined) return null;
  const giving = granted.filter((one) => one.role === role);
  const because = giving.map((one) => one.because);
  if (role === 'admin' || role === 'viewer') return { role, scope: ALL, because };
  const teams = [...new Set(giving.flatMap((one) => one.teams))].slice(0, MAX_TEAMS);
  return { role, scope: { kind: 'teams', teams }, because };
}

/** Who signs in, by the claims; null for somebody without a role. */
export function personOf(
  claims: Claims,
  mapping: RoleMapping,
  rules: readonly GroupRule[] = [],
): Person | null {
  const rights = rightsOfClaims(claims, mapping, rules);
  return rights && { name: nameOf(claims), role: rights.role, scope: rights.scope, keyHash: null };
}

function grantedByEnvironment(
  claims: Claims,
  { roleClaim, adminValues, viewerValues, teams }: RoleMapping,
): Granted[] {
  const values = valuesOf(claims, roleClaim);
  const byValues = (role: PersonRole, setting: string, wanted: readonly string[]): Granted[] =>
    values
      .filter((value) => wanted.includes(value))
      .map((value) => ({ role, teams: [], because: `${value} (${setting})` }));
  const led = teams === null ? [] : teamsIn(valuesOf(claims, teams.claim), teams.prefix);
  return [
    ...byValues('admin', 'OIDC_ADMIN_VALUES', adminValues),
    ...byValues('viewer', 'OIDC_VIEWER_VALUES', viewerValues),
    ...led.map((team): Granted => {
      const because = `${teams?.prefix ?? ''}${team} (OIDC_TEAM_PREFIX)`;
      return { role: 'team-lead', teams: [team], because };
    }),
  ];
}

const grantedByRules = (
  claims: Claims,
  { roleClaim }: RoleMapping,
  rules: readonly GroupRule[],
): Granted[] => {
  const values = new Set(valuesOf(claims, roleClaim));
  return rules.flatMap(({ group, role: name, teams }) => {
    const role = PersonRole.safeParse(name).data;
    return role !== undefined && values.has(group)
      ? [{ role, teams, because: `${group} (set in the console)` }]
      : [];
  });
};

/** The address, where the provider has verified it. */
export const verifiedEmail = (claims: Claims): string | undefined =>
  isTrue(claims.email_verified) ? valuesOf(claims, 'email').at(0)?.toLowerCase() : undefined;

/** Whether the claims have what decides about the role; a provider may send it with the person's profile only. */
export const hasRoleClaim = (claims: Claims, { roleClaim, teams }: RoleMapping): boolean =>
  [roleClaim, ...(teams === null ? [] : [teams.claim])].every(
    (name) => lookUpClaim(claims, name) !== undefined,
  );

const teamsIn = (values: readonly string[], prefix: string): string[] =>
  [...new Set(values.filter((value) => value.startsWith(prefix)).map((value) => value.slice(prefix.length)))]
    .filter((name) => TEAM_NAME.test(name))
    .slice(0, MAX_TEAMS);

const valuesOf = (claims: Claims, name: string): string[] => Texts.parse(lookUpClaim(claims, name));

/** By the whole name, else as a path, such as `realm_access.roles`; each name on it may have dots, as addresses do. */
function lookUpClaim(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  for (let dot = name.indexOf('.'); dot !== -1; dot = name.indexOf('.', dot + 1)) {
    const step = name.slice(0, dot);
    const members = Object.hasOwn(claims, step) ? Members.parse(claims[step]) : {};
    const found = lookUpClaim(members, name.slice(dot + 1));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The name with the subject, which alone is one person's for ever: people can choose and change names. */
function nameOf(claims: Claims): string {
  const isVerified = isTrue(claims.email_verified);
  const [name] = printable(claims, isVerified ? NAME_CLAIMS : NAME_CLAIMS.slice(1));
  const [subject] = printable(claims, ['sub']);
  if (name === undefined || name === subject) return subject ?? 'an unnamed person';
  return subject === undefined ? name : `${name} (${subject})`;
}

const printable = (claims: Claims, names: readonly string[]): string[] =>
  names
    .flatMap((claim) => valuesOf(claims, claim))
    .map((name) => name.replaceAll(NOT_PRINTABLE, '').trim().slice(0, MAX_NAME_CHARACTERS))
    .filter((name) => name !== '');

/**
 * Whether the provider left the groups out because there are too many: Entra ID then points to its directory's API instead.
 *
 * @see https://learn.microsoft.com/entra/identity-platform/id-token-claims-reference "Groups overage claim"
 */
export function hasTooManyGroups(claims: Claims, { roleClaim, teams }: RoleMapping): boolean {
  const pointers = Members.parse(claims._claim_names);
  const isPointedTo = (name: string): boolean =>
    Object.hasOwn(pointers, name) || (name === GROUPS && isTrue(claims.hasgroups));
  return [roleClaim, teams?.claim ?? roleClaim].some(
    (name) => lookUpClaim(claims, name) === undefined && isPointedTo(name),
  );
}

/** Entra ID's claim of groups. */
const GROUPS = 'groups';
const isTrue = (value: unknown): boolean => value === true || value === 'true';
