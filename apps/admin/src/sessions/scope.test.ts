import { expect, test } from 'vitest';
import type { Role } from './roles.ts';
import { ALL, mayUseKey, type Scope } from './scope.ts';

const RED = { id: 'key_red', team: 'red' };
const BLUE = { id: 'key_blue', team: 'blue' };
const ALONE = { id: 'key_alone', team: null };
const KEYS = [RED, BLUE, ALONE];

test.for<[Role, Scope, string[]]>([
  ['admin', ALL, ['key_red', 'key_blue', 'key_alone']],
  ['viewer', ALL, []],
  ['team-lead', { kind: 'teams', teams: ['red'] }, ['key_red']],
  ['team-lead', { kind: 'teams', teams: [] }, []],
  ['team-member', { kind: 'teams', teams: ['red'] }, []],
  ['key-holder', { kind: 'key', keyId: 'key_blue' }, ['key_blue']],
])('a %s uses the keys of its scope, and who only looks none', ([role, scope, ids]) => {
  expect(KEYS.filter((key) => mayUseKey({ role, scope }, key)).map(({ id }) => id)).toEqual(ids);
});
