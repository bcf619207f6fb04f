import { execFile } from 'node:child_process';
import { copyFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { COMPILE_CACHE } from '@gateway/stack/compile-cache';
import { type Stack, startStack } from '@gateway/stack/start-stack';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { waitFor } from '@gateway/testkit/wait-for';
import { startTlsFront } from '../support/realtime.ts';
import { ROOT, type Snippet } from './snippets.ts';

/** A gateway as `npm start` has it for a newcomer, and a shell that runs what a page says against it. */
export interface CommandRunner {
  /** Resolves to the exit code and what was printed. */
  run(snippet: Pick<Snippet, 'text'>): Promise<{ readonly code: number; readonly output: string }>;
  /** The same for a program of Node, which finds the clients of this package. */
  runProgram(text: string): Promise<{ readonly code: number; readonly output: string }>;
  readonly stack: Stack;
  close(): Promise<void>;
}

/**
 * What a page's commands find: `curl` fails for an answer that is an error, `npm run gateway` is the command line of this checkout, and an
 * id that the page leaves out, such as `key_…`, is the last one of its kind that was printed.
 */
const SHELL = `
set -euo pipefail
seen() { grep -ohE "$1[0-9A-Za-z_]+" seen | tail -n 1; }
curl() { command curl -sS --fail-with-body --max-time 300 "$@" | tee -a seen; }
npm() {
  [ "$1 $2 $3" = 'run gateway --' ] || { echo "npm $* is not run here" >&2; return 1; }
  shift 3
  "$NODE" "$CLI" "$@" | tee -a seen
}
`;

const LEFT_OUT = /\b(key|req|job|msg)_…/g;

export async function openCommandRunner(): Promise<CommandRunner> {
  await using resources = new AsyncDisposableStack();
  const folder = resources.adopt(await temporaryFolder(), (owned) => owned.close());
  const dataDir = join(folder.path, 'data');
  const stack = resources.adopt(
    await startStack({ dataDir, env: { DRAIN_TIMEOUT_MS: '1000' }, mode: 'one' }),
    (owned) => owned.stop(),
  );
  await symlink(join(ROOT, 'examples'), join(folder.path, 'examples'));
  await copyFile(
    join(ROOT, 'apps/admin/src/litellm/fixtures/quick-start.yaml'),
    join(folder.path, 'config.yaml'),
  );
  await writeFile(join(folder.path, 'seen'), await makeRequest(stack));
  await symlink(join(ROOT, 'tests/node_modules'), join(folder.path, 'node_modules'));
  const front = resources.adopt(await startTlsFront(stack.edgeUrl), (owned) => owned.close());
  await writeFile(join(folder.path, 'authority.pem'), front.ca);
  const owned = resources.move();
  const atThisGateway = (text: string): string =>
    text
      .replaceAll('http://127.0.0.1:8080', stack.edgeUrl)
      .replaceAll('http://127.0.0.1:8090', stack.adminUrl ?? '')
      .replaceAll('https://gateway.example/v1', front.baseURL);
  const execute = (file: string, args: readonly string[], env: NodeJS.ProcessEnv) =>
    new Promise<{ code: number; output: string }>((resolve) => {
      execFile(file, args, { cwd: folder.path, env }, (error, out, problems) =>
        resolve({ code: error === null ? 0 : Number(error.code ?? 1), output: out + problems }),
      );
    });
  return {
    stack,
    runProgram: async (text) => {
      await writeFile(join(folder.path, 'program.ts'), atThisGateway(text));
      const env = { KEY: stack.key, NODE_EXTRA_CA_CERTS: join(folder.path, 'authority.pem') };
      return execute(process.execPath, ['program.ts'], env);
    },
    run: ({ text }) => {
      const commands = atThisGateway(text)
        .replaceAll(LEFT_OUT, '$(seen $1_)')
        .replaceAll(/\bgwb_(?:…|\.\.\.)/g, stack.key);
      const env = {
        NODE: process.execPath,
        KEY: stack.key,
        CLI: join(ROOT, 'apps/admin/src/cli.ts'),
        GATEWAY_DATA_DIR: dataDir,
        NODE_COMPILE_CACHE: COMPILE_CACHE,
      };
      return execute('bash', ['--norc', '-c', SHELL + commands], env);
    },
    close: () => owned.disposeAsync(),
  };
}

/** A request that is in the records, for the commands that look for one. @returns its id */
async function makeRequest({ edgeUrl, adminUrl, key, adminToken }: Stack): Promise<string> {
  const response = await fetch(`${edgeUrl}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-5.2', input: 'Say hello.' }),
  });
  await response.text();
  const id = response.headers.get('x-request-id') ?? '';
  const read = () =>
    fetch(`${adminUrl}/admin/v1/requests/${id}`, { headers: { authorization: `Bearer ${adminToken}` } });
  await waitFor(async () => (await read()).ok, { timeoutMs: 120_000, what: 'the record of a request' });
  return `${id}\n`;
}
