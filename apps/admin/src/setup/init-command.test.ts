import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { parseConfiguration } from '@gateway/upstream/configuration/parse-configuration';
import { expect, onTestFinished, test, vi } from 'vitest';
import { initialize } from './init-command.ts';
import { machineIdentity, reference } from './offers.ts';
import { startProvider, VALID_KEY } from './provider-for-tests.ts';

const MACHINE = { OPENAI_API_KEY: VALID_KEY, GROQ_API_KEY: VALID_KEY, OPENROUTER_API_KEY: VALID_KEY };

/** No gateway runs here. */
const NOBODY = { fetch: () => Promise.reject(new Error('no service is asked')), userName: 'ann' };

async function newFolder(): Promise<string> {
  const { path, close } = await temporaryFolder();
  onTestFinished(close);
  return path;
}

/** What `init` writes with these options, and what it says. */
async function initialized(argv: readonly string[], env: Readonly<Record<string, string>> = MACHINE) {
  const output = join(await newFolder(), 'gateway.yaml');
  const said: string[] = [];
  const end = await initialize([...argv, '--output', output], {
    ...NOBODY,
    env,
    print: (line) => said.push(line),
  });
  const text = await readFile(output, 'utf8');
  return {
    output,
    text,
    said: [...said, end].join('\n'),
    configuration: parseConfiguration(text, output, env),
  };
}

test("a company's usual models are written as patterns, of those that it lists, with a reference to its key", async () => {
  const { url } = await startProvider(['gpt-5.2', 'gpt-image-2', 'text-embedding-3-small', 'babbage-002']);
  const { text, said, configuration, output } = await initialized(['--provider', `openai=${url}`]);
  expect(configuration.models.map(({ pattern, kind }) => [pattern, kind])).toEqual([
    ['gpt-*', 'text'],
    ['gpt-image-*', 'image'],
    ['text-embedding-*', 'embedding'],
  ]);
  expect(text).toMatch(/apiKey: \$\{OPENAI_API_KEY\}/);
  expect(text).not.toContain(VALID_KEY);
  expect(said).toContain('openai: the key is valid; 4 models.');
  expect(said).not.toContain(VALID_KEY);
  expect((await stat(output)).mode & 0o777).toBe(0o600);
});

test('another list is written name by name with what each model is, and a name that two have leads to each of them', async () => {
  const names = ['llama-4', 'whisper-large-v3', 'nomic-embed-text'];
  const groq = await startProvider(['llama-4', 'whisper-large-v3']);
  const own = await startProvider(names, {
    needsKey: false,
    answers: { '/api/version': { version: '0.9' } },
  });
  const { configuration, text } = await initialized([
    ...['--provider', `groq=${groq.url}`],
    ...['--server', new URL(own.url).origin],
  ]);
  expect(configuration.channels.get('ollama')?.provider).toBe('ollama');
  expect(
    configuration.models.map(({ pattern, kind, routes }) => [
      pattern,
      kind,
      routes.map(({ channel, model }) => [channel.name, model]),
    ]),
  ).toEqual([
    ['llama-4', 'text', [['groq', null]]],
    ['ollama/llama-4', 'text', [['ollama', 'llama-4']]],
    ['nomic-embed-text', 'embedding', [['ollama', null]]],
  ]);
  expect(text).toMatch(/# 2 models listed\. 1 of other kinds left out: docs\/configuration\.md/);
});

test('a long list is one pattern below the name of its channel', async () => {
  const { url } = await startProvider(Array.from({ length: 400 }, (_, at) => `maker/model-${at}`));
  const { configuration } = await initialized(['--provider', `openrouter=${url}`]);
  expect(configuration.models.map(({ pattern, routes }) => [pattern, routes[0]?.model])).toEqual([
    ['openrouter/*', '*'],
  ]);
});

test.each([
  [{ '/v1/models': { data: [{ id: 'm', owned_by: 'vllm' }] } }, 'vllm'],
  [{ '/v1/models': { data: [{ id: 'm', owned_by: 'llamacpp' }], models: [] } }, 'llama-cpp'],
  [{ '/api/v0/models': { data: [{ id: 'm', compatibility_type: 'gguf' }] } }, 'lm-studio'],
  [{ '/api/version': { version: '0.9' } }, 'ollama'],
  [{ '/v1/models': { data: [{ id: 'm', owned_by: 'sglang' }] } }, 'openai-compatible'],
  [{ '/v1/models': { data: [{ id: 'm', owned_by: 'me' }] } }, 'openai-compatible'],
])('a server that answers %j is connected as %s', async (answers, provider) => {
  const { url } = await startProvider(['m'], { needsKey: false, answers });
  for (const address of [url, new URL(url).origin]) {
    const { configuration } = await initialized(['--server', address], {});
    expect([...configuration.channels.values()]).toMatchObject([
      { name: provider, provider, origin: new URL(url).origin },
    ]);
    expect(configuration.models).toMatchObject([{ pattern: 'm' }]);
  }
});

test('nothing is written where a key is missing or refused, a server is away, or has nothing', async () => {
  const { url } = await startProvider(['gpt-5.2']);
  const empty = await startProvider([], { needsKey: false, answers: { '/v1/models': { data: null } } });
  for (const [argv, env, message] of [
    [
      ['--provider', `openai=${url}`],
      {},
      /no key for openai: set OPENAI_API_KEY .*No configuration was written/,
    ],
    [
      ['--provider', `openai=${url}`],
      { OPENAI_API_KEY: 'sk-wrong-9876543210' },
      /^openai: 401: Incorrect API key provided: \[removed\]\n?.*No configuration/s,
    ],
    [['--server', 'http://127.0.0.1:9'], {}, /cannot be reached: .*ECONNREFUSED/],
    [['--server', empty.url], {}, /has no model yet/],
    [['--local', '--team', ' x'], {}, /is no name of a team: it must begin/],
    [['--local', '--team', 'search', '--budget', 'much'], {}, /'much' is no budget: dollars a month/],
    [['--local', '--budget', '100'], {}, /--budget is that of the team that --team names/],
    [[], {}, /What is connected\? --provider NAME \(openai, /],
    [['--provider', 'nobody'], {}, /no provider 'nobody' here/],
    [['--server', 'ftp://x'], {}, /is no address/],
    [['--server', 'http://user:hush@x'], {}, /is no address/],
    [['--nonsense'], {}, /nonsense/],
  ] as const) {
    const output = join(await newFolder(), 'gateway.yaml');
    const end = initialize([...argv, '--output', output], { ...NOBODY, env, print: () => {} });
    await expect(end).rejects.toThrow(message);
    await expect(stat(output)).rejects.toThrow('ENOENT');
  }
});

test('what is there is not overwritten unless it is said', async () => {
  const { url } = await startProvider(['m'], { needsKey: false });
  const output = join(await newFolder(), 'gateway.yaml');
  await writeFile(output, 'mine');
  const again = (more: readonly string[]) =>
    initialize(['--server', url, '--output', output, ...more], { ...NOBODY, env: {}, print: () => {} });
  await expect(again([])).rejects.toThrow(/is already there\. .*--replace/);
  expect(await readFile(output, 'utf8')).toBe('mine');
  await again(['--replace']);
  expect(await readFile(output, 'utf8')).toContain('openai-compatible');
});

const CLI = join(import.meta.dirname, '../cli.ts');

/** The command line at a terminal of its own, in an empty folder and with no key in the environment. */
function atTerminal(folder: string) {
  const command = `'${process.execPath}' '${CLI}' init`;
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    cwd: folder,
    env: { PATH: '/usr/bin:/bin', TERM: 'dumb' },
  });
  onTestFinished(() => {
    child.kill();
  });
  let shown = '';
  let answered = 0;
  let look = () => {};
  child.stdout.on('data', (chunk: Buffer) => {
    shown += chunk;
    look();
  });
  return {
    shown: () => shown,
    ended: once(child, 'close'),
    /** Types a line once this is shown after all that was answered. */
    answer: (question: RegExp, line: string) =>
      new Promise<void>((resolve) => {
        look = () => {
          const found = question.exec(shown.slice(answered));
          if (found === null) return;
          answered += found.index + found[0].length;
          look = () => {};
          child.stdin.write(`${line}\r`);
          resolve();
        };
        look();
      }),
  };
}

test('at a terminal what is open is asked, a refused key once more, and keys are neither shown nor in the file', async () => {
  const { url } = await startProvider(['llama-4']);
  const folder = await newFolder();
  const terminal = atTerminal(folder);
  await terminal.answer(/Which providers, .*\[none\]: /, `groq=${url}`);
  await terminal.answer(/Look for model servers on this machine\? \[yes\]: /, 'no');
  await terminal.answer(/Key of groq, .*: /, 'gsk-wrong-9876543210');
  await terminal.answer(/401: Incorrect API key provided: [\s\S]*Key of groq, .*: /, VALID_KEY);
  await terminal.answer(/A first team, .*\[none\]: /, 'search team');
  await terminal.answer(/What may it spend .*: /, '250 dollars');
  await terminal.answer(/'250 dollars' is no budget: [\s\S]*A first team, .*\[none\]: /, 'search team');
  await terminal.answer(/What may it spend .*: /, '250');
  await terminal.ended;
  expect(terminal.shown()).toContain('Written to gateway.yaml: groq.');
  expect(terminal.shown()).toContain('The keys are in .env: GROQ_API_KEY.');
  expect(terminal.shown()).toContain("teams create 'search team' --budget 250 --period month");
  expect(await readFile(join(folder, '.env'), 'utf8')).toBe(`\nGROQ_API_KEY='${VALID_KEY}'\n`);
  expect((await stat(join(folder, '.env'))).mode & 0o777).toBe(0o600);
  for (const text of [terminal.shown(), await readFile(join(folder, 'gateway.yaml'), 'utf8')])
    for (const key of [VALID_KEY, 'gsk-wrong-9876543210']) expect(text).not.toContain(key);
});

test('a key that was typed is kept where a later provider fails, or there is a file already', async () => {
  const { url } = await startProvider(['llama-4']);
  const folder = await newFolder();
  const keys = async () => await readFile(join(folder, '.env'), 'utf8');
  const said = /valid are in \.env, where the next init finds them: GROQ_API_KEY\./;
  const failing = atTerminal(folder);
  await failing.answer(/Which providers, .*\[none\]: /, `groq=${url} openrouter=http://127.0.0.1:1`);
  await failing.answer(/Look for model servers on this machine\? \[yes\]: /, 'no');
  await failing.answer(/Key of groq, .*: /, VALID_KEY);
  await failing.answer(/Key of openrouter, .*: /, 'gsk-unproven-9876543210');
  await failing.ended;
  expect(failing.shown()).toMatch(said);
  expect(await keys()).toBe(`\nGROQ_API_KEY='${VALID_KEY}'\n`);
  await rm(join(folder, '.env'));
  await writeFile(join(folder, 'gateway.yaml'), 'mine');
  const refused = atTerminal(folder);
  await refused.answer(/Which providers, .*\[none\]: /, `groq=${url}`);
  await refused.answer(/Look for model servers on this machine\? \[yes\]: /, 'no');
  await refused.answer(/Key of groq, .*: /, VALID_KEY);
  await refused.answer(/A first team, .*\[none\]: /, '');
  await refused.ended;
  expect(refused.shown()).toMatch(said);
  expect(await keys()).toBe(`\nGROQ_API_KEY='${VALID_KEY}'\n`);
});

test('at a terminal that is left nothing is written', async () => {
  const folder = await newFolder();
  const terminal = atTerminal(folder);
  await terminal.answer(/Which providers, .*\[none\]: /, '\u0003');
  await terminal.ended;
  await expect(stat(join(folder, 'gateway.yaml'))).rejects.toThrow('ENOENT');
  expect(terminal.shown()).toMatch(/\nNo configuration was written\.\s*$/);
});

test('a server that refuses to answer without a key is asked again with that of its variable', async () => {
  const { url } = await startProvider(['llama-4']);
  const { configuration, text, said } = await initialized(['--server', url, '--server-key', 'HOUSE_KEY'], {
    HOUSE_KEY: VALID_KEY,
  });
  expect(text).toMatch(/apiKey: \$\{HOUSE_KEY\}/);
  expect(said).toContain('openai-compatible: the key is valid; 1 model.');
  expect(configuration.models.map(({ pattern }) => pattern)).toEqual(['llama-4']);
  await expect(initialized(['--server', url], {})).rejects.toThrow(
    /There is no key for openai-compatible: set OPENAI_COMPATIBLE_API_KEY/,
  );
  await expect(initialized(['--server', url, '--server-key', VALID_KEY])).rejects.toThrow(
    /names the environment variable that has the key/,
  );
});

test('a resource of Azure has its key tried, and its deployments by the names that are given', async () => {
  const { asked, url } = await startProvider([], {
    needsKey: false,
    answers: { '/openai/v1/models': { data: [{ id: 'gpt-4o-2024-08-06' }] } },
  });
  const origin = new URL(url).origin;
  const env = { AZURE_OPENAI_API_KEY: VALID_KEY };
  const azure = ['--provider', `azure-openai=${origin}`];
  const { configuration } = await initialized([...azure, '--deployment', 'house-gpt'], env);
  expect(configuration.models.map(({ pattern }) => pattern)).toEqual(['house-gpt']);
  expect(asked[0]?.headers['api-key']).toBe(VALID_KEY);
  await expect(initialized(azure, env)).rejects.toThrow(/name each with --deployment NAME/);
});

const CLOUD = {
  '/model/eu.amazon.nova-2-pro-v1%3A0/converse': { output: {} },
  '/anthropic/v1/messages': { content: [] },
};
const NAMES = ['eu.anthropic.claude-opus-5', 'eu.amazon.nova-2-pro-v1:0'];

test('models of a cloud are tried by the names that are given, with its key', async () => {
  const { asked, url } = await startProvider([], { answers: CLOUD });
  const { configuration, said, text } = await initialized(
    [
      ...['--provider', `bedrock=${new URL(url).origin}`, '--region', 'eu-central-1'],
      ...NAMES.flatMap((name) => ['--model', name]),
    ],
    { AWS_BEARER_TOKEN_BEDROCK: VALID_KEY },
  );
  expect(asked.map(({ path }) => path).toSorted()).toEqual(Object.keys(CLOUD).toSorted());
  expect(said).toContain('bedrock: the key is valid; 2 models.');
  expect(text).toMatch(/region: eu-central-1/);
  expect(text).toMatch(/apiKey: \$\{AWS_BEARER_TOKEN_BEDROCK\}/);
  expect(configuration.models.map(({ pattern, kind }) => [pattern, kind])).toEqual(
    NAMES.map((name) => [name, 'text']),
  );
});

test('without a key a cloud is asked with the credentials that it gives this machine', async () => {
  const { asked, url } = await startProvider([], { needsKey: false, answers: CLOUD });
  const [name = ''] = NAMES;
  // AWS' own library reads them from the environment of the process.
  const own = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'own-secret' };
  for (const [variable, value] of Object.entries(own)) vi.stubEnv(variable, value);
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  const { said, text } = await initialized(
    ['--provider', `bedrock=${new URL(url).origin}`, '--region', 'eu-central-1', '--model', name],
    {},
  );
  expect(text).toMatch(/auth:\n +type: aws\n/);
  expect(text).not.toContain('apiKey');
  expect(said).toContain('bedrock: the credentials of this machine are valid; 1 model.');
  expect(asked[0]?.headers.authorization).toMatch(
    /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d+\/eu-central-1\/bedrock\//,
  );
});

test('an identity of Entra ID is written as the environment has it, without its secret', async () => {
  const env = { AZURE_TENANT_ID: 'tenant', AZURE_CLIENT_ID: 'client', AZURE_CLIENT_SECRET: VALID_KEY };
  expect(machineIdentity('azure-openai', env)).toEqual({
    type: 'entra',
    tenantId: reference('AZURE_TENANT_ID'),
    clientId: reference('AZURE_CLIENT_ID'),
    clientSecret: reference('AZURE_CLIENT_SECRET'),
  });
  const workload = { AZURE_TENANT_ID: 't', AZURE_CLIENT_ID: 'c', AZURE_FEDERATED_TOKEN_FILE: '/token' };
  expect(machineIdentity('foundry', workload)).toMatchObject({
    federatedTokenFile: reference('AZURE_FEDERATED_TOKEN_FILE'),
  });
  expect(machineIdentity('foundry', {})).toEqual({ type: 'entra', managedIdentity: true });
  expect(machineIdentity('vertex', {})).toEqual({ type: 'google' });
  expect(machineIdentity('openai', {})).toBeNull();
});

test('what a cloud needs to know, and what it refuses, is said', async () => {
  const { url } = await startProvider([], { answers: CLOUD });
  const bedrock = ['--provider', `bedrock=${new URL(url).origin}`];
  const env = { AWS_BEARER_TOKEN_BEDROCK: VALID_KEY };
  for (const [argv, of, message] of [
    [bedrock, env, /bedrock needs --region: the region, such as eu-central-1\./],
    [[...bedrock, '--region', 'Frankfurt'], env, /region: found a text of 9 characters, expected a region/],
    [[...bedrock, '--region', 'eu-central-1'], env, /bedrock lists no models: .*--model NAME/],
    [
      [...bedrock, '--region', 'eu-central-1', '--model', NAMES[0] ?? ''],
      { AWS_BEARER_TOKEN_BEDROCK: 'wrong-9876543210' },
      /^bedrock: eu\.anthropic\.claude-opus-5: 401: Incorrect API key/,
    ],
    [
      [...bedrock, '--region', 'eu-central-1', '--model', 'eu.meta.llama-9'],
      env,
      /^bedrock: eu\.meta\.llama-9: 404: /,
    ],
    [[...bedrock, '--region', 'eu-central-1', '--model', ''], env, /bedrock lists no models/],
    ...['amazon.nova-canvas-v1:0', 'arn:aws:bedrock:eu-central-1:1:application-inference-profile/x'].map(
      (name) =>
        [
          [...bedrock, '--region', 'eu-central-1', '--model', name],
          env,
          /: write its entry yourself, as docs\/clouds shows\. No configuration was written\.$/,
        ] as const,
    ),
    [
      ['--provider', 'vertex', '--project', 'house'],
      {},
      /vertex needs --location: global, us, eu or a region/,
    ],
  ] as const)
    await expect(initialized(argv, of)).rejects.toThrow(message);
});

test('at a terminal a cloud is asked where it is, and for its models', async () => {
  const { url } = await startProvider([], { answers: CLOUD });
  const folder = await newFolder();
  const terminal = atTerminal(folder);
  await terminal.answer(/Which providers, .*\[none\]: /, `bedrock=${new URL(url).origin}`);
  await terminal.answer(/Look for model servers on this machine\? \[yes\]: /, 'no');
  await terminal.answer(/For bedrock, the region, such as eu-central-1: /, 'eu-central-1');
  await terminal.answer(/Key of bedrock, .*\(empty: use the credentials of this machine\): /, VALID_KEY);
  await terminal.answer(/Models of bedrock that callers may use, by their ids there: /, NAMES.join(', '));
  await terminal.answer(/A first team, .*\[none\]: /, '');
  await terminal.ended;
  expect(terminal.shown()).toContain('Written to gateway.yaml: bedrock.');
  expect(await readFile(join(folder, '.env'), 'utf8')).toBe(`\nAWS_BEARER_TOKEN_BEDROCK='${VALID_KEY}'\n`);
});
