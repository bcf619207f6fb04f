import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { DEFAULT_COOLDOWN } from '../health/cooldown.ts';
import { ConfigurationError } from './mistakes/configuration-error.ts';
import { parseConfiguration } from './parse-configuration.ts';

const env = { OPENAI_API_KEY: 'sk-from-the-environment', EMPTY: '' };

const fixture = (name: string): string => readFileSync(new URL(`fixtures/${name}`, import.meta.url), 'utf8');
const GOOD = fixture('good.yaml');

const mistakesIn = (text: string): ConfigurationError => {
  try {
    parseConfiguration(text, 'gateway.yaml', env);
  } catch (error) {
    if (error instanceof ConfigurationError) return error;
    throw error;
  }
  throw new Error('no mistake was found');
};

/** Changes of the good file, and the line of the message for each. */
const MISTAKES = z
  .array(z.strictObject({ what: z.string(), from: z.string(), to: z.string(), message: z.string() }))
  .parse(parse(fixture('mistakes.yaml')));

test.for(MISTAKES)(
  '$what is reported with its position, what was found and what was expected',
  ({ from, to, message }) => {
    expect(GOOD).toContain(from);
    expect(mistakesIn(GOOD.replace(from, () => to)).message).toContain(message);
  },
);

test("a mistake in a preset's own variable for its address is reported, without its value", () => {
  const text = 'channels: { local: { provider: ollama } }\nmodels: {}';
  const parse = () => parseConfiguration(text, 'gateway.yaml', { OLLAMA_BASE_URL: 'pa55word@10.0.0.9' });
  expect(parse).toThrow(ConfigurationError);
  expect(parse).toThrow(/baseUrl: found another value in OLLAMA_BASE_URL, expected/);
  expect(parse).not.toThrow(/pa55word/);
});

test('an empty file is reported', () => {
  expect(mistakesIn('').message).toContain('found nothing (null), expected a mapping');
});

test('all mistakes are reported at once, in the order of the file, and each one once', () => {
  const { mistakes } = mistakesIn(`
channels:
  one: { provider: openai, apiKey: "\${NOT_SET}", maxConcurrent: many }
  two: { provider: nobody }
models:
  a: { kind: text, routes: [{ channel: three, weight: -1 }, { channel: one }] }
  b: 4
extra: 1
`);
  expect(mistakes.map(({ path }) => path)).toEqual([
    'channels.one.apiKey',
    'channels.one.maxConcurrent',
    'channels.two.provider',
    'models.a.routes[0].channel',
    'models.a.routes[0].weight',
    'models.b',
    'extra',
  ]);
});

test.for([
  ['from the environment', `provider: "\${OPENAI_API_KEY}"`, 'sk-from-the-environment'],
  ['of a literal key', 'apiKey: "sk literal with spaces"', 'literal'],
  ['of a named key', 'apiKeys: { a: "sk literal with spaces" }', 'literal'],
  ['of a header', 'headers: { x-key: "sk-literal\\nnext" }', 'sk-literal'],
  ['of a base URL with a password', 'baseUrl: "http://user:pa55word@host/"', 'pa55word'],
  ['of broken YAML', 'apiKey: sk-literal: sk-literal', 'sk-literal'],
])('a mistake never repeats a value %s', ([, member, secret]) => {
  const { message } = mistakesIn(GOOD.replace('provider: openai-compatible', member ?? ''));
  expect(message).toContain('line 4');
  expect(message).not.toContain(secret);
});

test('absent settings are filled in from the preset and the defaults', () => {
  const { channels, models } = parseConfiguration(GOOD, 'gateway.yaml', env);
  expect(channels.get('openai')).toMatchObject({
    origin: 'https://api.openai.com',
    speaks: [
      'responses',
      'chat',
      'images',
      'speech',
      'transcriptions',
      'embeddings',
      'moderations',
      'translations',
      'realtime',
    ],
    connectMs: 5000,
    timeLimits: { text: { idleMs: 60_000, totalMs: 600_000 }, image: { firstOutputMs: 600_000 } },
    onDisconnect: 'cancel',
  });
  expect(channels.get('openai')?.paths['images.edits']).toBe('/v1/images/edits');
  expect(channels.get('vllm')?.paths.chat).toBe('/v1/chat/completions');
  expect(models[0]?.routes[0]).toMatchObject({ priority: 0, weight: 1, model: null, builtInTools: 'any' });
});

test.for([
  ['https://x.openai.azure.com', '/openai/v1/responses'],
  ['https://x.openai.azure.com/openai/v1', '/openai/v1/responses'],
  ['https://gateway.example/azure/v1/', '/azure/v1/responses'],
])('an Azure channel at %s is called at %s', ([baseUrl, path]) => {
  const text = GOOD.replace('provider: openai,', `provider: azure-openai, baseUrl: "${baseUrl}",`);
  const channel = parseConfiguration(text, 'gateway.yaml', env).channels.get('openai');
  expect(channel?.paths.responses).toBe(path);
  expect(channel?.accounts[0].secrets.headers).toContainEqual(['api-key', env.OPENAI_API_KEY]);
});

test('a channel can be logged without showing its key', () => {
  const channel = parseConfiguration(GOOD, 'gateway.yaml', env).channels.get('openai');
  expect(inspect(channel, { depth: 9, showHidden: true }) + JSON.stringify(channel)).not.toContain('sk-from');
  expect(channel?.accounts[0].secrets.headers).toContainEqual([
    'authorization',
    `Bearer ${env.OPENAI_API_KEY}`,
  ]);
});

test('anchors and merge keys can share settings', () => {
  const { channels } = parseConfiguration(
    `
channels:
  one: &base { provider: openai-compatible, baseUrl: http://a/v1, timeouts: { idleMs: 7 } }
  two: { <<: *base, baseUrl: http://b/v1 }
models: {}
`,
    'gateway.yaml',
    {},
  );
  expect(channels.get('two')).toMatchObject({ origin: 'http://b', timeLimits: { text: { idleMs: 7 } } });
});

test('a doubled dollar means a plain one, and a variable can be inside a text', () => {
  const quoted = `"http://10.0.0.5/\${OPENAI_API_KEY}/$\${x}"`;
  const text = GOOD.replace('http://10.0.0.5:8000/v1/', () => quoted);
  const path = parseConfiguration(text, 'gateway.yaml', env).channels.get('vllm')?.paths.chat;
  expect(decodeURI(String(path))).toBe(`/sk-from-the-environment/\${x}/chat/completions`);
});

test.for(['constructor', '__proto__'])('a variable %s that is not set is missing', (name) => {
  const text = GOOD.replace(/\$\{OPENAI_API_KEY\}/, () => `\${${name}}`);
  expect(mistakesIn(text).message).toContain(`the environment variable ${name} to be set`);
});

test.for(['"KEY"', '{ apiKey: "KEY", weight: 2 }'])(
  'what a missing variable leaves empty is no second mistake: %s',
  (account) => {
    const keys = account.replace('KEY', () => `\${MISSING}`);
    const text = `channels:\n  a: { provider: openai, apiKeys: { one: ${keys} } }\nmodels:\n  m: { kind: text, routes: [{ channel: a }] }\n`;
    const { mistakes } = mistakesIn(text);
    expect(mistakes.map(({ found }) => found)).toEqual([`\${MISSING}, which is not set`]);
  },
);

test('rules of conversations have defaults, each by itself', () => {
  const rulesOf = (section: string) =>
    parseConfiguration(`${GOOD}\n${section}`, 'gateway.yaml', env).conversations;
  const defaults = {
    retentionMs: 2_592_000_000,
    maxBytesPerKey: 1_073_741_824,
    maxChainLength: 2000,
    maxChainBytes: 67_108_864,
    neverKept: { keys: [], models: [] },
    sharingTeams: [],
  };
  expect(rulesOf('')).toEqual(defaults);
  expect(rulesOf('conversations: { retentionDays: 0.5, neverKept: { models: ["secret-*"] } }')).toEqual({
    ...defaults,
    retentionMs: 43_200_000,
    neverKept: { keys: [], models: ['secret-*'] },
  });
});

test("a channel's cooldown has defaults, each by itself, and can be off", () => {
  const cooldownOf = (setting: string) =>
    parseConfiguration(
      `channels: { one: { provider: vllm, baseUrl: "http://10.0.0.5:8000/v1"${setting} } }\nmodels: { m: { kind: text, routes: [{ channel: one }] } }`,
      'gateway.yaml',
      env,
    ).channels.get('one')?.cooldown;
  expect(cooldownOf('')).toEqual(DEFAULT_COOLDOWN);
  expect(cooldownOf(', cooldown: { consecutiveFailures: 2, restSeconds: 0.5 }')).toEqual({
    ...DEFAULT_COOLDOWN,
    consecutiveFailures: 2,
    restMs: 500,
  });
  expect(cooldownOf(', cooldown: off')).toBeNull();
});
