import { TEAM_NAME } from '@gateway/metering/keys/settings';
import { z } from 'zod';
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

/** Who signs in, by the claims; null for somebody without a role. The role is the first of admin, viewer, team lead that applies. */
export function personOf(
  claims: Claims,
  { roleClaim, adminValues, viewerValues, teams }: RoleMapping,
): Person | null {
  const name = nameOf(claims);
  const values = valuesOf(claims, roleClaim);
  const has = (wanted: readonly string[]): boolean => values.some((value) => wanted.includes(value));
  if (has(adminValues)) return { name, role: 'admin', scope: ALL, keyHash: null };
  if (has(viewerValues)) return { name, role: 'viewer', scope: ALL, keyHash: null };
  const led = teams === null ? [] : teamsIn(valuesOf(claims, teams.claim), teams.prefix);
  return led.length === 0
    ? null
    : { name, role: 'team-lead', scope: { kind: 'teams', teams: led }, keyHash: null };
}

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
