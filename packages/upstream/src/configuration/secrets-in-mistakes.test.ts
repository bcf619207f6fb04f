import { everyNth } from '@gateway/testkit/is-long-run';
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

/** What has secrets of its own beside keys; a file of its own, because each part of a file is tried with the whole of it. */
const CREDENTIALS = {
  channels: {
    one: {
      provider: 'openai-compatible',
      baseUrl: 'https://10.0.0.7/v1',
      proxy: 'http://user:password@10.0.0.6:3128',
      auth: {
        type: 'oauth',
        tokenUrl: 'https://10.0.0.8/token',
        clientId: 'a',
        clientSecret: 'b',
        parameters: { audience: 'c' },
      },
    },
  },
  models: {},
  alerts: {
    receivers: {
      ops: { type: 'slack', url: 'https://hooks.slack.com/services/a' },
      people: {
        type: 'email',
        smtpUrl: 'smtps://u:p@10.0.0.9',
        from: 'a@example.com',
        to: ['b@example.com'],
      },
      pager: { type: 'webhook', url: 'https://10.0.0.9/hook', secret: `whsec_${'A'.repeat(32)}` },
    },
    rules: [{ receivers: ['ops'], kinds: ['model_slow'], afterSeconds: 120 }],
  },
};
const FILES: readonly object[] = [EVERYTHING, CREDENTIALS];

type Path = readonly string[];
const pathsIn = (value: unknown, path: Path = []): Path[] =>
  typeof value === 'object' && value !== null
    ? [path, ...Object.entries(value).flatMap(([name, inner]) => pathsIn(inner, [...path, name]))]
    : [path];

/** A part of one of the files. */
type Place = readonly [file: object, path: Path];
const PLACES: readonly Place[] = FILES.flatMap((file) =>
  pathsIn(file)
    .slice(1)
    .map((path) => [file, path] as const),
);

/** The file as JSON, which is YAML, with what `put` makes of one part. */
const changed = (
  [file, path]: Place,
  put: (holder: object, name: string, value: unknown) => void,
): string => {
  const whole: unknown = structuredClone({ file });
  const [name = '', ...holders] = ['file', ...path].reverse();
  let holder = whole;
  for (const one of holders.reverse()) holder = Reflect.get(Object(holder), one);
  put(Object(holder), name, Reflect.get(Object(holder), name));
  return JSON.stringify(Reflect.get(Object(whole), 'file'), null, 1);
};

const WAYS: Readonly<Record<string, (place: Place, text: string) => string>> = {
  'as a value': (place, text) => changed(place, (holder, name) => Reflect.set(holder, name, text)),
  'as an entry of a list': (place, text) =>
    changed(place, (holder, name) => Reflect.set(holder, name, [text])),
  'as a name': (place, text) => changed(place, (holder, name) => Reflect.set(holder, name, { [text]: 'x' })),
  'beside it': (place, text) => changed(place, (holder) => Reflect.set(holder, text, 'x')),
  'as the value of an unknown member': (place, text) =>
    changed(place, (holder) => Reflect.set(holder, 'unknown', text)),
  'by an alias': (place, text) =>
    changed(place, (holder, name) => Reflect.set(holder, name, '@alias')).replace(
      /^\{/,
      `{ "first": &secret ${JSON.stringify(text)},`,
    ),
  'as a name by an alias': (place, text) =>
    changed(place, (holder, name) => Reflect.set(holder, name, { '@name': 'x' })).replace(
      /^\{/,
      `{ "first": &secret ${JSON.stringify(text)},`,
    ),
  'with a tag': (place, text) => changed(place, (holder, name) => Reflect.set(holder, name, `@tag${text}`)),
  'by a merge': (place, text) =>
    changed(place, (holder, name) => Reflect.set(holder, name, { '<<': { unknown: text, provider: text } })),
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

/** Of four places one, for each secret another one: each place has each way of writing, with two of the secrets. */
const PART = 4;
const numbered = SECRETS.map(([text, shown], at) => [text, shown, at] as const);

for (const [way, write] of Object.entries(WAYS))
  test.for(numbered)(`no mistake shows %j, wherever it stands ${way}`, ([text, shown, at]) => {
    for (const place of everyNth(PLACES, PART, at)) {
      const file = asYaml(write(place, text));
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
