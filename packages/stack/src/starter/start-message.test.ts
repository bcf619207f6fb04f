import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Configuration } from '@gateway/upstream/configuration/configuration';
import { environmentConfiguration } from '@gateway/upstream/configuration/environment-configuration';
import { parseConfiguration } from '@gateway/upstream/configuration/parse-configuration';
import { expect, test } from 'vitest';
import type { Stack } from '../start-stack.ts';
import { startMessage } from './start-message.ts';

/** As long as those that the gateway makes. */
const KEY = `gwb_${'k'.repeat(43)}`;
const TOKEN = `gwa_${'t'.repeat(43)}`;

const stackWith = (configuration: Configuration): Stack => ({
  edgeUrl: 'http://127.0.0.1:8080',
  edgeMetricsUrl: 'http://127.0.0.1:8084',
  adminUrl: 'http://127.0.0.1:8090',
  key: KEY,
  adminToken: TOKEN,
  redisUrl: 'redis://127.0.0.1:6379',
  configuration,
  processes: [],
  process: () => {
    throw new Error('there is none');
  },
  stop: async () => undefined,
  end: async () => undefined,
});
const facts = {
  stack: stackWith(environmentConfiguration({})),
  redisAddress: '127.0.0.1:63790',
  configurationPath: 'gateway.yaml',
  dataDir: '.data',
};
const FILE = `
channels: { local: { provider: vllm, baseUrl: "http://127.0.0.1:8000/v1" } }
models: { house-model-of-a-team: { kind: text, routes: [{ channel: local }] } }
`;

test.for([
  ['the simulator', environmentConfiguration({})],
  [
    "providers' keys in the environment",
    environmentConfiguration({ OPENAI_API_KEY: 'k', ANTHROPIC_API_KEY: 'k' }),
  ],
  ['a file', parseConfiguration(FILE, 'gateway.yaml', {})],
] as const)('with %s it fits a small terminal beside the line of the prompt', ([, configuration]) => {
  const shown = startMessage({ ...facts, stack: stackWith(configuration), sources: null });
  const lines = shown.split('\n');
  expect(lines.length).toBeLessThanOrEqual(20);
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
});

test('where the database has the configuration, nothing is said of the file', () => {
  const shown = startMessage({ ...facts, configurationPath: null, sources: null });
  expect(shown).toContain('Answers   as the database says, on the Configuration page of the console\n');
  expect(shown).not.toMatch(/simulator|init/);
  expect(shown).toContain('curl http://127.0.0.1:8080/v1/models');
});

test('a terminal shows the key and the admin token, and where everything else is', () => {
  const shown = startMessage({ ...facts, sources: null });
  expect(shown).toContain(`Key       ${KEY}\n`);
  expect(shown).toContain(`sign in with ${TOKEN}\n`);
  expect(shown).toContain('Docs      http://127.0.0.1:8090/docs/\n');
  expect(shown).toContain('npm run gateway -- init');
});

test('the page that it names has a command for each endpoint', async () => {
  const [, page] = /\/docs\/([\w-]+)\.html\n/.exec(startMessage({ ...facts, sources: null })) ?? [];
  const root = join(import.meta.dirname, '../../../..');
  const markdown = await readFile(join(root, `docs/${page}.md`), 'utf8');
  const paths = [...markdown.matchAll(/^curl .*?http:\/\/127\.0\.0\.1:8080(\S+)/gm)].map(([, path]) => path);
  expect(paths).toEqual(
    expect.arrayContaining([
      '/v1/responses',
      '/v1/messages',
      '/v1/chat/completions',
      '/v1/images/generations',
      '/v1/images/edits',
      '/v1/audio/speech',
      '/v1/audio/transcriptions',
      '/v1/embeddings',
    ]),
  );
});

test('output that is no terminal has neither, but where they are', () => {
  const written = startMessage({
    ...facts,
    sources: {
      key: { file: '/data/secrets/bootstrap-key' },
      adminToken: { variable: 'GATEWAY_ADMIN_TOKEN' },
    },
  });
  expect(written).not.toContain(KEY);
  expect(written).not.toContain(TOKEN);
  expect(written).toContain(`"Authorization: Bearer $(cat '/data/secrets/bootstrap-key')"`);
  expect(written).toContain('the admin token, the value of GATEWAY_ADMIN_TOKEN');
});
