import { TEAM_NAME } from '@gateway/metering/keys/settings';
import { z } from 'zod';
import { ALL, MAX_TEAMS } from '../scope.ts';
import type { Person } from '../sign-in.ts';
import type { RoleMapping } from './oidc-settings.ts';

/** What an identity provider says of a person, by name. */
export type Claims = Readonly<Record<string, unknown>>;

/** The most telling name first. */
const NAME_CLAIMS = ['email', 'preferred_username', 'name', 'sub'];
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

/** By the whole name, which may have dots, else as a path, such as `realm_access.roles`. */
function lookUpClaim(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  return name.split('.').reduce<unknown>((value, step) => {
    const members = Members.parse(value);
    return Object.hasOwn(members, step) ? members[step] : undefined;
  }, claims);
}

function nameOf(claims: Claims): string {
  const names = NAME_CLAIMS.flatMap((claim) => valuesOf(claims, claim))
    .map((name) => name.replaceAll(NOT_PRINTABLE, '').trim().slice(0, MAX_NAME_CHARACTERS))
    .filter((name) => name !== '');
  return names[0] ?? 'somebody without a name';
}
