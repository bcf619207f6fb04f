import { beforeAll, expect, test } from 'vitest';
import { AuditPage } from '../api/schemas/operations.ts';
import { TOKEN } from '../testing/run-admin.ts';
import { useAdmin } from '../testing/use-admin.ts';

const admin = useAdmin({ keepsData: true });
beforeAll(async () => {
  await change('ann', 'POST', '/teams', { name: 'search' });
  for (const name of ['one', 'two', 'three'])
    await change('ben', 'POST', '/keys', { name: `search ${name}` });
  await change('ann', 'PATCH', '/teams/search', { budget: { usd: 5, period: 'day' } });
});

const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };

async function change(who: string, method: string, path: string, body: object): Promise<void> {
  const reply = await fetch(`${admin.url}/admin/v1${path}`, {
    method,
    headers: { ...headers, 'x-gateway-actor': who },
    body: JSON.stringify(body),
  });
  expect(reply.ok).toBe(true);
}

const read = (query: string) => fetch(`${admin.url}/admin/v1/audit?${query}`, { headers });
const found = async (query: string) => AuditPage.parse(await (await read(query)).json());
const names = ({ data }: Found) => data.map(({ who, action, after }) => [who, action, after?.name]);
type Found = Awaited<ReturnType<typeof found>>;

test('entries are found by a part of who made the change, by the action, and by the id or name of what was changed', async () => {
  expect(names(await found('who=AN'))).toEqual([
    ['ann', 'team.changed', 'search'],
    ['ann', 'team.created', 'search'],
  ]);
  expect(names(await found('action=key.created&subject=Two'))).toEqual([
    ['ben', 'key.created', 'search two'],
  ]);
  const [entry] = (await found('subject=three')).data;
  expect(names(await found(`subject=${entry?.subject}`))).toEqual([['ben', 'key.created', 'search three']]);
  expect(await found('who=nobody')).toEqual({ data: [], next: null });
  expect(names(await found('subjectId=search&kind=team'))).toEqual([
    ['ann', 'team.changed', 'search'],
    ['ann', 'team.created', 'search'],
  ]);
  for (const none of ['subjectId=searc', 'subjectId=search&kind=key', 'subjectId=%25', 'subjectId=a"b'])
    expect(await found(none)).toEqual({ data: [], next: null });
});

test('pages of what a filter selects follow each other, none missing and none twice', async () => {
  const seen: unknown[] = [];
  let next: string | null = '';
  while (next !== null) {
    const page: Found = await found(`who=ben&limit=1${next && `&cursor=${next}`}`);
    expect(page.data.length).toBeLessThanOrEqual(1);
    seen.push(...page.data.map(({ after }) => after?.name));
    next = page.next;
  }
  expect(seen).toEqual(['search three', 'search two', 'search one']);
});

test('an action that there is not is refused', async () => {
  expect((await read('action=key.eaten')).status).toBe(400);
});
