import { expect, test } from 'vitest';
import { ConfigurationError } from './mistakes/configuration-error.ts';
import { parseConfiguration } from './parse-configuration.ts';

const OF_THE_ENVIRONMENT = 'gwa_Xy12-of-the-environment\nsecond line';
const KEY = 'sk-proj-Ab3dEf6hIj9lMn2pQr5t';
const env = { SECRET: OF_THE_ENVIRONMENT, SHORT: 'hunter2', WORD: 'opnai', NUMBER: '31337' };

const EVERYTHING = {
  channels: {
    one: {
      provider: 'openai',
      baseUrl: 'http://10.0.0.5/v1',
      apiKeys: { first: 'sk-1', second: { apiKey: 'sk-2', weight: 2, maxConcurrent: 3 } },
      speaks: ['chat'],
      headers: { 'x-team': 'a' },
      timeouts: { idleMs: 7 },
      maxConcurrent: 4,
      onDisconnect: 'drain',
      cooldown: { restSeconds: 3 },
      forwardUserIds: true,
      quirks: { reasoningBack: 'never' },
    },
  },
  models: {
    'gpt-5': {
      kind: 'text',
      routes: [{ channel: 'one', model: 'gpt-5.1', priority: 1, weight: 1 }],
      fallback: { maxAttempts: 2 },
      builtInTools: ['web_search'],
      price: { inputPerMTok: 1, outputPerMTok: 2 },
    },
    drawing: { kind: 'image', family: { sizes: ['1x1'] }, routes: [{ channel: 'one' }] },
  },
  conversations: { retentionDays: 3, neverKept: { keys: ['a'] } },
};

type Path = readonly string[];
const pathsIn = (value: unknown, path: Path = []): Path[] =>
  typeof value === 'object' && value !== null
    ? [path, ...Object.entries(value).flatMap(([name, inner]) => pathsIn(inner, [...path, name]))]
    : [path];

/** The file as JSON, which is YAML, with what `put` makes of one part. */
const changed = (path: Path, put: (holder: object, name: string, value: unknown) => void): string => {
  const whole: unknown = structuredClone({ file: EVERYTHING });
  const [name = '', ...holders] = ['file', ...path].reverse();
  let holder = whole;
  for (const one of holders.reverse()) holder = Reflect.get(Object(holder), one);
  put(Object(holder), name, Reflect.get(Object(holder), name));
  return JSON.stringify(Reflect.get(Object(whole), 'file'), null, 1);
};

const WAYS: Readonly<Record<string, (path: Path, text: string) => string>> = {
  'as a value': (path, text) => changed(path, (holder, name) => Reflect.set(holder, name, text)),
  'as an entry of a list': (path, text) => changed(path, (holder, name) => Reflect.set(holder, name, [text])),
  'as a name': (path, text) => changed(path, (holder, name) => Reflect.set(holder, name, { [text]: 'x' })),
  'beside it': (path, text) => changed(path, (holder) => Reflect.set(holder, text, 'x')),
  'as the value of an unknown member': (path, text) =>
    changed(path, (holder) => Reflect.set(holder, 'unknown', text)),
  'by an alias': (path, text) =>
    changed(path, (holder, name) => Reflect.set(holder, name, '@alias')).replace(
      /^\{/,
      `{ "first": &secret ${JSON.stringify(text)},`,
    ),
  'as a name by an alias': (path, text) =>
    changed(path, (holder, name) => Reflect.set(holder, name, { '@name': 'x' })).replace(
      /^\{/,
      `{ "first": &secret ${JSON.stringify(text)},`,
    ),
  'with a tag': (path, text) => changed(path, (holder, name) => Reflect.set(holder, name, `@tag${text}`)),
  'by a merge': (path, text) =>
    changed(path, (holder, name) => Reflect.set(holder, name, { '<<': { unknown: text, provider: text } })),
};
const asYaml = (json: string): string =>
  json.replaceAll('"@alias"', '*secret').replaceAll('"@name":', '*secret :').replaceAll('"@tag', '!!str "');

const messageOf = (text: string, placeholder?: string): string => {
  try {
    parseConfiguration(text, 'gateway.yaml', placeholder === undefined ? env : {}, placeholder);
    return '';
  } catch (error) {
    if (error instanceof ConfigurationError) return error.message;
    throw error;
  }
};

const SECRETS = [
  [`\${SECRET}`, /gwa_|of-the-environment|second line/],
  [`a\${SHORT}b`, /hunter2/],
  [`\${WORD}`, /opnai|did you mean "openai"/],
  [`\${NUMBER}`, /31337/],
  [KEY, /Ab3d/],
  [`Bearer ${KEY}`, /Ab3d/],
  [`apiKey:hunter2`, /hunter2/],
  [`${KEY}\nand more`, /Ab3d/],
] as const;

for (const [way, write] of Object.entries(WAYS))
  test.for(SECRETS)(`no mistake shows %j, wherever it stands ${way}`, ([text, shown]) => {
    for (const path of pathsIn(EVERYTHING).slice(1)) {
      const file = asYaml(write(path, text));
      expect(messageOf(file), file).not.toMatch(shown);
    }
  });

test.for([
  ['a name that comes twice', `{ provider: openai, ${KEY}: 1, ${KEY}: 2 }`],
  ['a missing space', `{ provider: openai, apiKey:${KEY} }`],
  ['a missing quote', `{ provider: openai, apiKey: "${KEY} }`],
  ['a missing bracket', `{ provider: openai, apiKey: ${KEY}`],
  ['a variable named by a key', `{ provider: openai, apiKey: "\${${KEY}}" }`],
  [
    'a variable named by a key without hyphens',
    `{ provider: openai, apiKey: "\${${KEY.replaceAll('-', '_')}}" }`,
  ],
  ['an alias named by a key', `{ provider: openai, apiKey: *${KEY} }`],
  ['a tag named by a key', `{ provider: !${KEY} openai, apiKey: [] }`],
  ['a key where its name belongs', `{ provider: openai, apiKeys: { ${KEY}: first } }`],
  ['a key for a header', `{ provider: openai, headers: { "${KEY} x": authorization } }`],
  ['an address with a key', `{ provider: vllm, baseUrl: "10.0.0.5/${KEY}?key=${KEY}" }`],
  ['a name that is a list', `{ provider: openai, ? [${KEY}] : 1 }`],
  ['a merge of a text', `{ provider: openai, <<: ${KEY} }`],
])('%s is reported without the key', ([, channel]) => {
  const message = messageOf(`channels:\n  one: ${channel}\nmodels: {}`);
  expect(message).toMatch(/line \d/);
  expect(message).not.toMatch(/Ab3d/);
});

test.for([
  ['a variable as a provider', `one: { provider: "\${WORD}", apiKey: x }`],
  ['a variable in an address', `one: { provider: vllm, baseUrl: "http://10.0.0.5:\${NUMBER}/v1" }`],
  ['a variable that nobody has', `one: { provider: openai, apiKey: "\${NOBODY}" }`],
])('%s is not checked where no variable has a value', ([, channel]) => {
  expect(messageOf(`channels: { ${channel} }\nmodels: {}`, 'http://placeholder')).toBe('');
});

const NINE = (alias: string) => `[${Array.from({ length: 9 }, () => `*${alias}`)}]`;
test.for<[string, string, RegExp]>([
  [
    'aliases of aliases',
    `a: &a [1]\nb: &b ${NINE('a')}\nc: &c ${NINE('b')}\nd: ${NINE('c')}`,
    /without bound/,
  ],
  ['nesting', `a: ${'['.repeat(100_000)}`, /without bound/],
  [
    'an alias of what it is in',
    'channels: &a { one: *a }\nmodels: {}',
    /line 1, channels.one: found an alias inside/,
  ],
  ['an alias without an anchor', 'channels: *nothing\nmodels: {}', /found an alias without its anchor/],
])('a file with %s is refused with a mistake', ([, text, message]) => {
  expect(messageOf(text)).toMatch(message);
});

test('a mapping of very many names is read in one go, and its first mistakes are reported', () => {
  const names = Array.from({ length: 30_000 }, (_, index) => `k${index}: 1`);
  expect(messageOf(names.join('\n')).split('\n')).toHaveLength(501);
});
