import { expect, test } from 'vitest';
import type { RoleMapping } from './oidc-settings.ts';
import { type Claims, hasTooManyGroups, personOf } from './person-of-claims.ts';

const MAPPING: RoleMapping = {
  roleClaim: 'groups',
  adminValues: ['gateway-admins'],
  viewerValues: ['staff', 'auditors'],
  teams: { claim: 'groups', prefix: 'lead-' },
};
const PATH: RoleMapping = { ...MAPPING, roleClaim: 'realm_access.roles', teams: null };
const URL_NAME: RoleMapping = { ...MAPPING, roleClaim: 'https://gateway.example.com/roles', teams: null };
const OWN_CLAIM: RoleMapping = { ...MAPPING, teams: { claim: 'teams', prefix: '' } };

const ALL = { kind: 'all' };
const teams = (...names: string[]) => ({ kind: 'teams', teams: names });

test.for<[string, Claims, RoleMapping, unknown]>([
  ['admin by a group', { groups: ['x', 'gateway-admins'] }, MAPPING, ['admin', ALL]],
  ['admin before viewer', { groups: ['staff', 'gateway-admins'] }, MAPPING, ['admin', ALL]],
  ['viewer before team lead', { groups: ['lead-search', 'auditors'] }, MAPPING, ['viewer', ALL]],
  ['one text instead of a list', { groups: 'staff' }, MAPPING, ['viewer', ALL]],
  [
    'the teams after the prefix',
    { groups: ['lead-b', 'lead-a c', 'lead-b'] },
    MAPPING,
    ['team-lead', teams('b', 'a c')],
  ],
  ['a claim of its own', { groups: [], teams: ['search'] }, OWN_CLAIM, ['team-lead', teams('search')]],
  ['a path', { realm_access: { roles: ['staff'] } }, PATH, ['viewer', ALL]],
  ['a name with dots', { 'https://gateway.example.com/roles': 'staff' }, URL_NAME, ['viewer', ALL]],
  [
    'a path below a name with dots',
    { 'https://gateway.example.com/app': { roles: ['staff'] } },
    { ...URL_NAME, roleClaim: 'https://gateway.example.com/app.roles' },
    ['viewer', ALL],
  ],
  [
    'a path through a name with dots',
    { resource_access: { 'my.client': { roles: ['staff'] }, my: { roles: ['gateway-admins'] } } },
    { ...PATH, roleClaim: 'resource_access.my.client.roles' },
    ['viewer', ALL],
  ],
  ['a path that ends too early', { realm_access: ['staff'] }, PATH, null],
  ['a name that no team can have', { groups: ['lead-a:b', 'lead-'] }, MAPPING, null],
  ['a part of a value', { groups: ['gateway-admins-of-something-else', 'my-staff'] }, MAPPING, null],
  ['values of another form', { groups: [{ name: 'gateway-admins' }] }, MAPPING, null],
  ['an inherited name', {}, { ...PATH, roleClaim: 'constructor.name', viewerValues: ['Object'] }, null],
  ['nothing', {}, MAPPING, null],
])('the role by %s', ([, claims, mapping, wanted]) => {
  const person = personOf({ email: 'ann@example.com', ...claims }, mapping);
  expect(person && [person.role, person.scope]).toEqual(wanted);
});

const RULES = [
  { group: 'research', role: 'team-lead', teams: ['search', 'vision'] },
  { group: 'everyone', role: 'team-member', teams: ['search'] },
  { group: 'support', role: 'viewer', teams: [] },
  { group: 'later', role: 'a role of a newer gateway', teams: [] },
];
test.for<[string, string[], unknown]>([
  ['a rule of the console', ['everyone'], ['team-member', teams('search')]],
  ['the highest of several rules', ['everyone', 'research'], ['team-lead', teams('search', 'vision')]],
  [
    'the teams of all rules of that role',
    ['research', 'lead-audio'],
    ['team-lead', teams('audio', 'search', 'vision')],
  ],
  ["the environment's rule, where it gives more", ['support', 'gateway-admins'], ['admin', ALL]],
  ["the console's rule, where it gives more", ['support', 'lead-audio'], ['viewer', ALL]],
  ['a role that is not known', ['later'], null],
])('rules of the environment and of the console count alike: %s', ([, groups, wanted]) => {
  const person = personOf({ groups }, MAPPING, RULES);
  expect(person && [person.role, person.scope]).toEqual(wanted);
});

test.for<[Claims, string]>([
  [{ email: 'ann@example.com', email_verified: true, name: 'Ann' }, 'ann@example.com'],
  [{ email: 'ann@example.com', email_verified: 'true', sub: 'u-1' }, 'ann@example.com (u-1)'],
  [{ email: 'boss@example.com', sub: 'u-1' }, 'u-1'],
  [{ email: 'boss@example.com', email_verified: false, name: 'Ann', sub: 'u-1' }, 'Ann (u-1)'],
  [{ preferred_username: 'ann', sub: '1' }, 'ann (1)'],
  [{ preferred_username: 'ann', sub: 'ann' }, 'ann'],
  [{ name: '\u202eA\u0007nn ', sub: '1' }, 'Ann (1)'],
  [{ email: '', sub: 'u-1' }, 'u-1'],
  [{ name: 'é'.repeat(200) }, 'é'.repeat(100)],
])('a person is named by %o as %s, fit for terminals', ([claims, name]) => {
  expect(personOf({ ...claims, groups: 'staff' }, MAPPING)?.name).toBe(name);
});

test.for<[string, Claims, boolean]>([
  [
    'a pointer',
    { _claim_names: { groups: 'src1' }, _claim_sources: { src1: { endpoint: 'https://graph' } } },
    true,
  ],
  ['a sign', { hasgroups: true }, true],
  ['its groups beside a pointer', { groups: ['x'], _claim_names: { groups: 'src1' } }, false],
  ['a pointer to something else', { _claim_names: { address: 'src1' } }, false],
  ['a pointer that is none', { _claim_names: 'groups' }, false],
  ['no groups', {}, false],
])('a token with %s has its groups left out: %j', ([, claims, left]) => {
  expect(hasTooManyGroups(claims, MAPPING)).toBe(left);
  // Application roles are there however many groups a person is in.
  expect(hasTooManyGroups(claims, { ...MAPPING, roleClaim: 'roles', teams: null })).toBe(false);
});
