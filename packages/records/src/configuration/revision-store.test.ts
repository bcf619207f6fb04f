import { expect, test } from 'vitest';
import { readAuditRows } from '../audit/audit-rows.ts';
import { onBothDatabases } from '../testing/use-database.ts';
import { createRevisionStore, MAX_REVISIONS, type NewRevision } from './revision-store.ts';

const revision = (base: number, text = `text ${base + 1}`): NewRevision => ({
  ...{ base, text, reason: 'because', secrets: { KEY: 'sealed' } },
  ...{ by: { who: 'ann', requestId: null }, audit: { before: null, after: { changes: ['x'] } } },
});

onBothDatabases((used) => {
  const open = () => createRevisionStore({ database: used.database, now: () => 5 });

  test('a revision is added to the one that was changed, with an entry in the log; any other base is refused', async () => {
    const store = open();
    expect(await store.latest()).toBeUndefined();
    expect(await store.add(revision(1))).toBeUndefined();
    expect(await store.add(revision(0))).toMatchObject({ number: 1, author: 'ann' });
    expect(await store.add(revision(0))).toBeUndefined();
    await store.add(revision(1));
    const second = {
      number: 2,
      atMs: 5,
      author: 'ann',
      reason: 'because',
      text: 'text 2',
      secrets: { KEY: 'sealed' },
    };
    expect(await store.latest()).toEqual(second);
    expect(await store.get(1)).toMatchObject({ text: 'text 1' });
    expect(await store.get(3)).toBeUndefined();
    expect((await store.list({ limit: 1 })).map(({ number }) => number)).toEqual([2]);
    expect((await store.list({ limit: 5, before: 2 })).map(({ number }) => number)).toEqual([1]);
    const rows = await used.database.read((queries) =>
      readAuditRows(queries, { before: null, limit: 9, containing: 'configuration.changed' }),
    );
    expect(rows.map(({ text }) => JSON.parse(text).subject)).toEqual(['revision 2', 'revision 1']);
  });

  test('of many that change the same revision at the same time one is heard', async () => {
    const [one, other] = [open(), open()];
    const added = await Promise.all(
      Array.from({ length: 8 }, (_, at) => (at % 2 === 0 ? one : other).add(revision(0, `text of ${at}`))),
    );
    expect(added.filter((each) => each !== undefined)).toHaveLength(1);
  });

  test('no more than so many are there, the newest', async () => {
    const store = open();
    await store.add(revision(0));
    await used.database.write(({ query }) =>
      query(
        `insert into configuration_revisions select $1, created_at, author, reason, content, secrets from configuration_revisions`,
        [MAX_REVISIONS],
      ),
    );
    expect(await store.list({ limit: 5 })).toHaveLength(2);
    await store.add(revision(MAX_REVISIONS));
    expect((await store.list({ limit: 5 })).map(({ number }) => number)).toEqual([
      MAX_REVISIONS + 1,
      MAX_REVISIONS,
    ]);
  });
});
