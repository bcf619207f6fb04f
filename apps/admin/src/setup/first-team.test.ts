import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { expect, onTestFinished, test } from 'vitest';
import { TOKEN } from '../testing/run-admin.ts';
import { useAdmin } from '../testing/use-admin.ts';
import { initialize } from './init-command.ts';
import { startProvider } from './provider-for-tests.ts';

const admin = useAdmin();

/** What `init` says with these options, beside a gateway. */
async function said(...argv: string[]): Promise<string> {
  const { path, close } = await temporaryFolder();
  onTestFinished(close);
  const output = join(path, 'gateway.yaml');
  const { url } = await startProvider(['m'], { needsKey: false });
  const end = await initialize(['--server', url, '--output', output, ...argv], {
    env: { ADMIN_URL: admin.url, GATEWAY_ADMIN_TOKEN: TOKEN },
    print: () => {},
    userName: 'ann',
    fetch,
  });
  expect((await stat(output)).isFile()).toBe(true);
  const key = /gwk_\S+/.exec(end)?.[0];
  if (key !== undefined) expect(await readFile(output, 'utf8')).not.toContain(key);
  return end;
}

const ask = async (path: string) => {
  const reply = await fetch(`${admin.url}${path}`, { headers: { authorization: `Bearer ${TOKEN}` } });
  return reply.json();
};

test('where a gateway runs, the first team has its budget and a key that works, which is shown once', async () => {
  const text = await said('--team', 'search', '--budget', '250');
  const key = /^ {2}(\S+)$/m.exec(text.split('shown only once:')[1] ?? '')?.[1];
  expect(key).toMatch(/^\S{20,}$/);
  expect(await ask('/admin/v1/teams')).toMatchObject({
    data: [{ name: 'search', budget: { usd: 250, period: 'month' } }],
  });
  const listed = await ask('/admin/v1/keys');
  expect(listed).toMatchObject({ data: [{ name: 'first', team: 'search' }] });
  expect(JSON.stringify(listed)).not.toContain(key);
});

test('a team that is there already is not made again, and the file is written all the same', async () => {
  await said('--team', 'search');
  const text = await said('--team', 'search');
  expect(text).toMatch(/The team 'search' has no key yet: .*exists/s);
  expect(text).toContain('keys create --team search --name PROGRAM');
});
