import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { TOKEN } from '../testing/run-admin.ts';
import { useAdmin } from '../testing/use-admin.ts';
import { runCommand } from './run-command.ts';

const SECRET = 'sk-written-out-0123456789';
/** What an edge answers to a request by a draft. */
const edge = createServer((_request, response) => {
  const events = [
    'event: response.output_text.delta\ndata: {"delta":"two\\u001b[31m\\nlines"}\n\n',
    'event: response.completed\ndata: {"response":{}}\n\n',
  ];
  response
    .writeHead(200, {
      ...{ 'content-type': 'text/event-stream', 'x-gateway-draft': 'true' },
      'x-gateway-attempts': '"one";outcome=ok;status=200;ms=5',
    })
    .end(events.join(''));
});
edge.listen(0, '127.0.0.1');
await once(edge, 'listening');
afterAll(() => void edge.close());
const address = edge.address();
const edgePort = typeof address === 'object' ? address?.port : undefined;
const admin = useAdmin({
  configuration: `# of the whole house
channels:
  one: { provider: openai, apiKey: ${SECRET} }
models:
  gpt-5: { kind: text, routes: [{ channel: one, weight: 10 }] }
`,
  env: { CONFIGURATION_SOURCE: 'database', EDGE_URL: `http://127.0.0.1:${edgePort}` },
  keepsData: true,
});

async function gateway(...argv: string[]) {
  const printed = { out: '', error: '' };
  const code = await runCommand({
    argv,
    env: { ADMIN_URL: admin.url, GATEWAY_ADMIN_TOKEN: TOKEN },
    fetch,
    now: Date.now,
    userName: 'ann',
    print: (text) => {
      printed.out += `${text}\n`;
    },
    write: async (text) => {
      printed.out += text;
    },
    printError: (text) => {
      printed.error += `${text}\n`;
    },
  });
  return { code, ...printed };
}

test('the configuration is exported without secrets, imported with a reason, listed, and restored', async () => {
  const exported = await gateway('configuration', 'export');
  expect(exported).toMatchObject({ code: 0, error: '' });
  expect(exported.out).toContain('# of the whole house');
  expect(exported.out).toContain(`\${SEALED_ONE_APIKEY}`);
  expect(exported.out).not.toContain(SECRET);

  const file = join(admin.dataFolder, 'changed.yaml');
  await writeFile(file, exported.out.replace('weight: 10', 'weight: 50'));
  expect(await gateway('configuration', 'import', file, '--reason', 'more for one')).toMatchObject({
    ...{ code: 0, error: '' },
    out: expect.stringContaining('Revision 2 is in use: more for one'),
  });
  expect((await gateway('configuration', 'export')).out).toContain('weight: 50');

  const history = await gateway('configuration', 'history');
  expect(history.out).toMatch(/REVISION.*AUTHOR.*REASON/);
  expect(history.out).toMatch(/^2 .*ann.*more for one$/m);
  expect(history.out).toMatch(/^1 .*Imported from/m);

  expect((await gateway('configuration', 'restore', '1')).out).toContain('Back to revision 1');
  expect((await gateway('configuration', 'export')).out).toBe(exported.out);
});

test('a file is tried on one request and stays a draft: what it says, and what answered', async () => {
  expect((await gateway('keys', 'create', '--name', 'the only one')).code).toBe(0);
  const file = join(admin.dataFolder, 'tried.yaml');
  const exported = await gateway('configuration', 'export');
  await writeFile(file, exported.out.replace('weight: 10', 'weight: 70'));
  const tried = await gateway('configuration', 'try', file, '--model', 'gpt-5');
  expect(tried).toMatchObject({ code: 0, error: '' });
  expect(tried.out).toMatch(/^Answered in \d+ ms, first output after \d+ ms\.\nModel gpt-5, request draft-/);
  expect(tried.out).toContain('Channels: one (default) ok\n\ntwo');
  expect(tried.out).not.toContain('\u001b');
  expect((await gateway('configuration', 'export')).out).toBe(exported.out);
  const without = await gateway('configuration', 'try', file);
  expect([without.code, without.error]).toEqual([expect.any(Number), expect.stringContaining('model')]);
});

test('a file with mistakes is not imported, and each is named by its line; nor is a revision restored that never was', async () => {
  const file = join(admin.dataFolder, 'broken.yaml');
  const { out } = await gateway('configuration', 'export');
  await writeFile(file, out.replace('channel: one', 'channel: oen'));
  const refused = await gateway('configuration', 'import', file);
  expect(refused.code).not.toBe(0);
  expect(refused.error).toMatch(/line \d+, models\.gpt-5\.routes\[0\]\.channel/);
  const unknown = await gateway('configuration', 'restore', '77');
  expect(unknown.code).not.toBe(0);
  expect(unknown.error).toContain('77');
});
