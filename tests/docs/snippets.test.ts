import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startMessage } from '@gateway/stack/starter/start-message';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { parseConfiguration } from '@gateway/upstream/configuration/parse-configuration';
import { parse as parseToml } from 'smol-toml';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { CODEX_SETTINGS, claudeSettings } from '../agents/agents.ts';
import { findHelm, HELM_PATIENCE_MS } from '../chart/helm.ts';
import { SURROUNDINGS, wholeProgram } from './programs.ts';
import { type CommandRunner, openCommandRunner } from './run-commands.ts';
import { pagesWithOtherBlocks, ROOT, readSnippets, reasonOf, type Snippet } from './snippets.ts';

const snippets = await readSnippets();
const named = (language: string, mark?: string): [string, Snippet][] =>
  snippets
    .filter((one) => one.language === language && (mark === undefined || one.mark === mark))
    .map((one) => [`${one.page}:${one.line}`, one]);

const commands = named('sh');
const run = commands.filter(([, snippet]) => reasonOf(snippet) === undefined);

let runner: CommandRunner;
beforeAll(async () => {
  runner = await openCommandRunner();
});
afterAll(() => runner?.close());

test.for(run)('the commands at %s work as they are written', { timeout: 900_000 }, async ([, snippet]) => {
  const { code, output } = await runner.run(snippet);
  expect(code, output).toBe(0);
});

test('the command that npm start prints works as it is pasted', async () => {
  const { stack } = runner;
  const message = startMessage({
    stack,
    redisAddress: '127.0.0.1:6379',
    configurationPath: 'gateway.yaml',
    dataDir: '.data',
    sources: null,
  });
  const [text = ''] = /^curl (?:.*\\\n)*.*$/m.exec(message) ?? [];
  const { code, output } = await runner.run({ text });
  expect(code, output).toBe(0);
  expect(output).toContain('"object":"response"');
});

test('these blocks of commands are not run, each for its reason', () => {
  const counts: Record<string, Record<string, number>> = {};
  for (const [, snippet] of commands) {
    const reason = reasonOf(snippet);
    if (reason === undefined) continue;
    const ofPage = counts[snippet.page] ?? {};
    counts[snippet.page] = { ...ofPage, [reason]: (ofPage[reason] ?? 0) + 1 };
  }
  expect(counts).toEqual(NOT_RUN);
});

test.for([...named('ts'), ...named('js')])(
  'the program at %s works',
  { timeout: 300_000 },
  async ([, { text }]) => {
    const [surroundings, ...others] = SURROUNDINGS.filter(({ has }) => text.includes(has));
    if (surroundings === undefined || others.length > 0)
      throw new Error('tests/docs/programs.ts: what is around it?');
    const { code, output } = await runner.runProgram(wholeProgram(text, surroundings));
    expect(code, output).toBe(0);
  },
);

test('the settings of Codex are those that npm run agents gives it', () => {
  const blocks = named('toml').map(([, { text }]) => parseToml(text));
  expect(blocks.length).toBeGreaterThan(0);
  for (const settings of blocks) expect(settings).toMatchObject(CODEX_SETTINGS);
});

test('the settings of Claude Code are those that npm run agents gives it', () => {
  const settings = named('json').flatMap(([, { text }]) =>
    text.includes('apiKeyHelper') ? [JSON.parse(text) as unknown] : [],
  );
  expect(settings).toEqual([claudeSettings('https://ai.example.com', '/usr/local/bin/gateway-key')]);
});

test('every block has a language that is tried here, or none and shows what is printed', () => {
  const tried = ['', 'sh', 'yaml', 'json', 'ts', 'js', 'toml', 'http'];
  const others = snippets.filter(({ language }) => !tried.includes(language));
  expect(others.map(({ page, line, language }) => `${page}:${line}: ${language}`)).toEqual([]);
});

test.for(named('http'))('the message at %s is one of HTTP, with a body of JSON', ([, { text }]) => {
  const [head = '', body = ''] = text.split('\n\n');
  const [first, ...headers] = head.split('\n');
  expect(first).toMatch(/^(?:GET|POST) \/\S* HTTP\/1\.1$/);
  for (const header of headers) expect(header).toMatch(/^[a-z-]+: \S/);
  expect(() => JSON.parse(whole(body))).not.toThrow();
});

test('every block is found, however its page has it', async () => {
  expect(await pagesWithOtherBlocks()).toEqual([]);
});

/** A command that is hidden in a block without a language would not be run. */
test('no block without a language begins with a command', () => {
  const hidden = named('').filter(([, { text }]) =>
    /^(?:[$#>] )?(?:\w+=\S* )*(?:np[mx]|pnpm|curl|docker|kubectl|helm|node|git|export|psql|redis-cli|openssl|aws|gcloud|az|python3?|pip|uvx?|codex|claude|ba?sh) /m.test(
      text,
    ),
  );
  expect(hidden.map(([place]) => place)).toEqual([]);
});

/** Whatever a variable is used for, this would do. */
const someValue = (name: string): string => {
  if (/WEBHOOK_SECRET$/.test(name)) return `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
  if (name === 'SMTP_URL') return 'smtps://mail.example.com';
  if (/_URL$/.test(name)) return 'https://hooks.example.com/services/T0/B0/secret';
  if (/_FILE$/.test(name)) return '/run/secrets/token';
  return `the-value-of-${name.toLowerCase().replaceAll('_', '-')}`;
};

/** A page explains a file piece by piece: what a block names and does not have is in one of the blocks before it, or of no matter here. */
test.for(named('yaml', ''))('the configuration at %s is valid', ([place, snippet]) => {
  const before = snippets.filter(
    ({ page, language, mark, line }) =>
      page === snippet.page && language === 'yaml' && mark === '' && line <= snippet.line,
  );
  const Part = z.looseObject({
    channels: z.record(z.string(), z.unknown()).default({}),
    models: z.record(z.string(), z.unknown()).default({}),
  });
  const parts = before.map(({ text }) => Part.parse(parse(text)));
  const last = parts.at(-1);
  const whole = {
    ...last,
    channels: Object.assign(
      { simulator: { provider: 'simulator' } },
      ...parts.map(({ channels }) => channels),
    ),
    models: {
      'any-*': { kind: 'text', routes: [{ channel: 'simulator' }] },
      ...last?.models,
    },
  };
  const env = Object.fromEntries(
    [
      ...snippet.text.matchAll(/\$\{(\w+)\}/g),
      ...before.flatMap(({ text }) => [...text.matchAll(/\$\{(\w+)\}/g)]),
    ].map(([, name = '']) => [name, someValue(name)]),
  );
  // As it is written, so that a mistake would be found at its line; then with what it leaves out.
  const written = Object.keys(parse(snippet.text) ?? {});
  expect(written.length, 'a block that says nothing').toBeGreaterThan(0);
  const configuration = parseConfiguration(JSON.stringify(whole), place, env);
  expect(configuration.models.length).toBe(Object.keys(whole.models).length);
});

/** What is left out of an object is an ellipsis at its end. */
const whole = (json: string): string => json.replaceAll(',…}', '}');

test.for(named('json'))('the JSON at %s is JSON', ([, { text }]) => {
  const json = whole(text);
  // A log is a value on each line.
  for (const value of json.startsWith('{"level"') ? json.trim().split('\n') : [json])
    expect(() => JSON.parse(value)).not.toThrow();
});

test.for(named('yaml', 'helm-values'))(
  'the values at %s fit the chart',
  { timeout: HELM_PATIENCE_MS },
  async ([, { text }]) => {
    const folder = await temporaryFolder();
    try {
      const values = join(folder.path, 'values.yaml');
      await writeFile(values, text);
      const helm = await findHelm();
      expect(await helm.template({ values })).toContain('kind: Deployment');
    } finally {
      await folder.close();
    }
  },
);

test.for(named('yaml', 'compose'))(
  'the services at %s are those of docker-compose.yml, or have an image',
  async ([, { text }]) => {
    const Services = z.object({
      services: z.record(z.string(), z.looseObject({ image: z.string().optional() })),
    });
    const options = { customTags: [{ tag: '!reset', collection: 'seq' as const, resolve: () => [] }] };
    const base = Services.parse(
      parse(await readFile(join(ROOT, 'docker-compose.yml'), 'utf8'), { merge: true }),
    );
    const added = Services.parse(parse(text, options));
    const unknown = Object.entries(added.services).filter(
      ([name, { image }]) => image === undefined && !Object.hasOwn(base.services, name),
    );
    expect(unknown).toEqual([]);
  },
);

test('every block of YAML is a configuration, or says what else it is', () => {
  const known = ['', 'compose', 'helm-values'];
  const others = named('yaml').filter(([, { mark }]) => !known.includes(mark));
  expect(others.map(([place]) => place)).toEqual([]);
});

/** Blocks of commands that do not run, by page and reason: the fewer, the better. */
const NOT_RUN = {
  'CONTRIBUTING.md': { checkout: 1 },
  'README.md': { checkout: 1, network: 1 },
  'docs/README.md': { checkout: 1 },
  'docs/admin-api.md': { state: 1 },
  'docs/api.md': { agent: 2, network: 1 },
  'docs/clouds/README.md': { network: 1 },
  'docs/coding-agents.md': { agent: 1 },
  'docs/comparison.md': { checkout: 1 },
  'docs/configuration.md': { network: 1 },
  'docs/kubernetes.md': { cluster: 3 },
  'docs/local-models.md': { network: 2 },
  'docs/moving-from-litellm.md': { network: 1 },
  'docs/operations.md': { docker: 3, settings: 2 },
  'docs/production.md': { network: 1 },
  'docs/telemetry.md': { checkout: 1 },
};
