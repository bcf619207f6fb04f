import { expect, test } from 'vitest';
import { createAuditReader } from '../audit/read-audit.ts';
import { onBothDatabases } from '../testing/use-database.ts';
import { createPeopleStore, type PersonRecord } from './people-store.ts';

const BY = { who: 'ann', requestId: 'req_1' };
const INVITED = { action: 'person.invited', before: null, after: null } as const;
const CHANGED = { action: 'person.changed', before: null, after: null } as const;

const person = (n: number, of: Partial<PersonRecord> = {}): PersonRecord => ({
  ...{ id: `per_${n}`, email: `p${n}@example.com`, name: `Person ${n}`, role: 'viewer', teams: [] },
  ...{ isDisabled: false, passwordHash: null, link: null, epoch: 0, createdAtMs: 1, lastSignInAtMs: null },
  ...of,
});

onBothDatabases((used) => {
  const store = () => createPeopleStore({ database: used.database, now: Date.now });
  const entries = async () =>
    (
      await createAuditReader({ database: used.database, redis: used.redis, onBroken: () => undefined })({
        limit: 50,
      })
    ).entries;

  test('people are found by id, address and link, and listed by pages, the newest first, as they are filtered', async () => {
    const people = store();
    expect(await people.isAny()).toBe(false);
    const all = [
      person(1, { teams: ['red'], role: 'team-lead', passwordHash: 'h' }),
      person(2, { teams: ['Red', 'a "quoted" one'], role: 'team-member' }),
      person(3, { name: 'Émile', isDisabled: true, link: { digest: 'd', expiresAtMs: 5 } }),
    ];
    for (const one of all) await people.add(one, BY, INVITED);
    expect(await people.isAny()).toBe(true);
    expect(await people.get('per_1')).toEqual(all[0]);
    expect(await people.findByEmail('p2@example.com')).toEqual(all[1]);
    expect(await people.findByLink('d')).toEqual(all[2]);
    const first = await people.list({ limit: 2 });
    expect(first).toEqual({ people: [all[2], all[1]], next: 'per_2' });
    expect(await people.list({ limit: 2, after: 'per_2' })).toEqual({ people: [all[0]], next: null });
    for (const [only, ids] of [
      [{ teams: ['red'] }, ['per_1']],
      [{ teams: ['Red', 'red'] }, ['per_2', 'per_1']],
      [{ teams: [] }, []],
      [{ teams: ['quoted'] }, []],
      [{ containing: 'émi' }, ['per_3']],
      [{ containing: '_' }, []],
      [{ state: 'invited' }, ['per_2']],
      [{ state: 'active' }, ['per_1']],
      [{ state: 'disabled' }, ['per_3']],
      [{ role: 'team-lead', containing: 'p' }, ['per_1']],
    ] as const)
      expect((await people.list({ limit: 9, only })).people.map(({ id }) => id)).toEqual(ids);
  });

  test('an address is one person’s, changes at the same time all happen, and each is in the log', async () => {
    const people = store();
    await people.add(person(1), BY, INVITED);
    await expect(people.add(person(2, { email: 'p1@example.com' }), BY, INVITED)).rejects.toMatchObject({
      code: 'conflict',
    });
    await Promise.all(
      [1, 2, 3].map(() =>
        store().change(
          'per_1',
          (before) => ({ next: { ...before, epoch: before.epoch + 1 }, audit: CHANGED }),
          BY,
        ),
      ),
    );
    await people.noteSignIn('per_1', 7);
    expect(await people.get('per_1')).toMatchObject({ epoch: 3, lastSignInAtMs: 7 });
    await expect(
      people.change(
        'per_1',
        () => {
          throw new Error('refused');
        },
        BY,
      ),
    ).rejects.toThrow('refused');
    await people.change('per_1', () => ({ next: null, audit: CHANGED }), BY);
    expect(await people.get('per_1')).toBeUndefined();
    expect(await people.change('per_1', (before) => ({ next: before, audit: CHANGED }), BY)).toBeUndefined();
    const logged = await entries();
    expect(logged.map(({ action, who, subject }) => `${who} ${action} ${subject}`)).toEqual([
      ...Array(4).fill('ann person.changed per_1'),
      'ann person.invited per_1',
    ]);
  });

  test('a group has one rule, which a later one replaces', async () => {
    const people = store();
    await people.putRule({ group: 'g', role: 'viewer', teams: [] }, BY);
    await people.putRule({ group: 'g', role: 'team-lead', teams: ['red'] }, BY);
    expect(await people.listRules()).toEqual([{ group: 'g', role: 'team-lead', teams: ['red'] }]);
    expect([await people.deleteRule('g', BY), await people.deleteRule('g', BY)]).toEqual([true, false]);
    expect((await entries()).map(({ action, before }) => [action, before?.role])).toEqual([
      ['group_rule.deleted', 'team-lead'],
      ['group_rule.changed', 'viewer'],
      ['group_rule.changed', undefined],
    ]);
  });
});
