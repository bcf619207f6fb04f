import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { parseConfiguration } from '@gateway/upstream/configuration/parse-configuration';
import { describe, expect, onTestFinished, test } from 'vitest';
import { importLitellm } from './import-command.ts';

const NO_SERVICE = {
  fetch: () => Promise.reject(new Error('no service is asked')),
  now: Date.now,
  userName: 'cli',
  print: () => {
    throw new Error('nothing is printed');
  },
};

const FIXTURES = join(import.meta.dirname, 'fixtures');
const names = (await readdir(FIXTURES)).filter(
  (name) => name.endsWith('.yaml') && !name.endsWith('.out.yaml'),
);

async function newFolder(): Promise<string> {
  const { path, close } = await temporaryFolder();
  onTestFinished(close);
  return path;
}

async function imported(text: string, env = {}) {
  const folder = await newFolder();
  const [file, output] = [join(folder, 'config.yaml'), join(folder, 'gateway.yaml')];
  await writeFile(file, text);
  const answer = await importLitellm(['litellm', file, '--output', output], { env, ...NO_SERVICE });
  return {
    folder,
    file,
    output,
    answer: answer.replaceAll(`${folder}/`, ''),
    text: await readFile(output, 'utf8'),
  };
}

describe.each(names)('%s', (name) => {
  test('becomes a file that the gateway takes, which says what is not the same', async () => {
    const { text, answer } = await imported(await readFile(join(FIXTURES, name), 'utf8'));
    await expect(text).toMatchFileSnapshot(`fixtures/${name.replace('.yaml', '.out.yaml')}`);
    expect(answer).not.toContain('Mend these');
    const { models } = parseConfiguration(text, 'gateway.yaml', {}, 'unknown');
    expect(models.length).toBeGreaterThan(0);
  });
});

test('variables that are not set are named, and keys that stand in the file are shown nowhere but in the new one', async () => {
  const { text, answer, output } = await imported(
    'model_list:\n' +
      '  - { model_name: a, litellm_params: { model: openai/gpt-5.2, api_key: sk-a-secret } }\n' +
      '  - { model_name: b, litellm_params: { model: xai/grok-5 } }\n' +
      '  - { model_name: c, litellm_params: { model: groq/x, api_key: os.environ/GROQ } }\n' +
      'general_settings: { master_key: sk-master, database_url: "postgresql://u:password-of-it@h/d" }\n' +
      'environment_variables: { OTHER: another-secret }\n',
    { GROQ: 'set' },
  );
  expect(answer).toMatch(/Set these variables, in the environment or in \.env:\n {2}XAI_API_KEY$/);
  expect(text).toContain('apiKey: sk-a-secret');
  expect((await stat(output)).mode & 0o777).toBe(0o600);
  for (const secret of ['sk-a-secret', 'sk-master', 'password-of-it', 'another-secret'])
    expect(answer).not.toContain(secret);
  for (const secret of ['sk-master', 'password-of-it', 'another-secret']) expect(text).not.toContain(secret);
});

test('models of included files come after those of the file, whose other settings count first', async () => {
  const folder = await newFolder();
  await mkdir(join(folder, 'more'));
  const model = (name: string) => `{ model_name: ${name}, litellm_params: { model: openai/${name} } }`;
  await writeFile(
    join(folder, 'config.yaml'),
    `include: [more/one.yaml]\nmodel_list: [${model('a')}]\nrouter_settings: { num_retries: 1 }\n`,
  );
  await writeFile(
    join(folder, 'more/one.yaml'),
    `model_list: [${model('b')}]\nrouter_settings: { num_retries: 9 }\n`,
  );
  const output = join(folder, 'out.yaml');
  await importLitellm(['litellm', join(folder, 'config.yaml'), '--output', output], {
    env: {},
    ...NO_SERVICE,
  });
  const { models } = parseConfiguration(await readFile(output, 'utf8'), 'out.yaml', {}, 'unknown');
  expect(models.map(({ pattern }) => pattern)).toEqual(['a', 'b']);
  expect(models[1]?.routes[0]?.fallback.maxAttempts).toBe(2);
});

test('what is there is not overwritten unless it is said', async () => {
  const { file, output, text } = await imported(
    'model_list: [{ model_name: a, litellm_params: { model: gpt-5.2 } }]',
  );
  const again = (more: readonly string[]) =>
    importLitellm(['litellm', file, '--output', output, ...more], { env: {}, ...NO_SERVICE });
  await writeFile(output, 'mine');
  await expect(again([])).rejects.toThrow(/is already there\. .*--replace/);
  expect(await readFile(output, 'utf8')).toBe('mine');
  await again(['--replace']);
  expect(await readFile(output, 'utf8')).toBe(text);
});

test.each([
  ['model_list: [', /line 1: it is not YAML/],
  ['model_list: 7', /config\.yaml is not a configuration of LiteLLM's: model_list is not/],
  ['just text', /is not a configuration of LiteLLM's: the file is not/],
  ['', /is not a configuration of LiteLLM's/],
  ['model_list: []', /Nothing of .* can be carried over/],
  ['model_list: [{ model_name: a, litellm_params: { model: petals/x } }]', /no provider 'petals'/],
  [
    `a: &a [x]\n${Array.from({ length: 30 }, (_, i) => `b${i}: &b${i} [*${i === 0 ? 'a' : `b${i - 1}`}, *${i === 0 ? 'a' : `b${i - 1}`}]`).join('\n')}\n`,
    /more than 100 aliases/,
  ],
  ['include: [no-such-file.yaml]', /no-such-file\.yaml cannot be read: ENOENT/],
])('a file that says %j is refused in a sentence', async (text, expected) => {
  await expect(imported(text)).rejects.toThrow(expected);
});

test.each([
  [['litellm'], /Missing argument: import litellm FILE, or --from URL/],
  [['litellm', '--from', 'http://127.0.0.1:1'], /master key is missing: set LITELLM_MASTER_KEY/],
  [['bifrost', 'x'], /What is imported\?/],
  [[], /What is imported\?/],
  [['litellm', 'a', 'b'], /Unexpected argument: b/],
  [['litellm', 'a', '--nonsense'], /nonsense/],
])('the arguments %j are not understood', async (argv, expected) => {
  await expect(importLitellm(argv, { env: {}, ...NO_SERVICE })).rejects.toThrow(expected);
});
