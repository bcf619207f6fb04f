import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** `npm run gateway -- keys …` beside a running gateway. */

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ services: ['edge', 'text', 'admin'] });
});
afterAll(() => gateway?.close());

const CLI = join(import.meta.dirname, '../apps/admin/src/cli.ts');

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly error: string;
}

/** The command line finds the admin service and its token where `npm start` keeps them: in the data folder. */
function run(args: string[], env: Record<string, string> = {}): Promise<Ended> {
  const options = { env: { GATEWAY_DATA_DIR: gateway.dataFolder, ...env }, cwd: gateway.dataFolder };
  return new Promise((resolve) => {
    execFile(process.execPath, [CLI, ...args], options, (error, out, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, out, error: stderr }),
    );
  });
}

const ask = async (key: string, model = 'gpt-5.2'): Promise<number> => {
  const response = await gateway.fetch('/v1/responses', {
    json: { model, input: 'x' },
    headers: { authorization: `Bearer ${key}` },
  });
  await response.text();
  return response.status;
};

test('a key that is made works at once, for what it was made for, until it is revoked', async () => {
  const made = await run(['keys', 'create', '--name', 'a story', '--models', 'gpt-*', '--json']);
  expect(made).toMatchObject({ code: 0, error: '' });
  const { id, key } = JSON.parse(made.out);
  expect(await ask(key)).toBe(200);
  expect(await ask(key, 'claude-sonnet-5-5')).toBe(404);

  const listed = await run(['keys', 'list']);
  expect(listed.out).toMatch(new RegExp(`^${id} +a story +- +gpt-\\* +all +\\S+ +active$`, 'm'));
  expect(listed.out).toContain('bootstrap');
  expect(listed.out).not.toContain(key);

  expect(await run(['keys', 'revoke', id])).toMatchObject({ code: 0, out: `Revoked key ${id} (a story).\n` });
  await waitFor(async () => (await ask(key)) === 401);
  expect((await run(['keys', 'list'])).out).toMatch(new RegExp(`^${id} .* revoked \\S+$`, 'm'));
});

test('what goes wrong is one sentence and an exit code', async () => {
  const unknown = await run(['keys', 'revoke', 'key_none']);
  expect(unknown).toMatchObject({ code: 1, out: '', error: "There is no key 'key_none'.\n" });
  const refused = await run(['keys', 'list'], { GATEWAY_ADMIN_TOKEN: 'not-the-token-of-this-gateway' });
  expect(refused).toMatchObject({ code: 1, error: expect.stringContaining('refused the token') });
  const senseless = await run(['keys', 'paint']);
  expect(senseless).toMatchObject({ code: 2, error: expect.stringContaining('keys paint') });
});
