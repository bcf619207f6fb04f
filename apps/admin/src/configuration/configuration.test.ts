import { rm, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { CheckedConfigurationReply, ConfigurationReply } from '../routes/operations/configuration-routes.ts';
import { TOKEN } from '../testing/run-admin.ts';
import { useAdmin } from '../testing/use-admin.ts';
import { createTextCheck } from './check-text.ts';
import { DraftedConfiguration } from './draft.ts';

const SECRET = 'sk-a-literal-provider-key';
const VALID = `# once ${SECRET}
channels:
  one: { provider: openai, apiKey: ${SECRET} }
  two: { provider: anthropic, apiKey: "\${NOT_KNOWN_HERE}" }
models:
  gpt-5: { kind: text, routes: [{ channel: one }] }
`;
const INVALID = VALID.replace('{ channel: one }', '{ channel: oen }');

const admin = useAdmin({ configuration: VALID, keepsData: true });

const call = (path: string, body?: unknown) =>
  fetch(`${admin.url}/admin/v1${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
const read = async () => ConfigurationReply.parse(await (await call('/configuration')).json());
const check = async (text: string) =>
  CheckedConfigurationReply.parse(await (await call('/configuration/check', { text })).json());

test('the configuration is shown as the file has it, without a secret', async () => {
  await writeFile(admin.configurationPath, VALID);
  const shown = await read();
  const path = admin.configurationPath;
  expect(shown).toMatchObject({ source: 'file', path, isValid: true, mistakes: [], channels: 2, models: 1 });
  expect(shown.unknownVariables).toEqual(['NOT_KNOWN_HERE']);
  expect(shown.lastReload?.held).toBe(true);
  expect(shown.text).toMatch(/\$\{NOT_KNOWN_HERE\}/);
  expect(JSON.stringify(shown)).not.toContain(SECRET);
});

test('a change that did not take effect is told with its line, and shows no secret', async () => {
  await writeFile(
    admin.configurationPath,
    INVALID.replace(`apiKey: ${SECRET}`, `apiKey: "${SECRET} with spaces"`),
  );
  const shown = await read();
  expect(shown).toMatchObject({ isValid: false, text: null, lastReload: { held: false } });
  expect(shown.mistakes.map(({ line, path: where }) => [line, where])).toEqual([
    [3, 'channels.one.apiKey'],
    [6, 'models.gpt-5.routes[0].channel'],
  ]);
  expect(JSON.stringify(shown)).not.toContain(SECRET);
});

test('a text is checked with the lines of its mistakes, and nothing is applied', async () => {
  await writeFile(admin.configurationPath, VALID);
  expect(await check(INVALID)).toMatchObject({
    isValid: false,
    mistakes: [{ line: 6, path: 'models.gpt-5.routes[0].channel' }],
  });
  expect(await check('channels: [')).toMatchObject({ isValid: false, channels: 0 });
  expect(await check(VALID)).toMatchObject({ isValid: true, mistakes: [], channels: 2, hooks: [] });
  const hooks =
    'hooks: { guard: { kind: generic, baseUrl: "http://10.0.0.5", output: window, rules: [{ teams: [a] }] } }';
  expect(await check(`${VALID}\n${hooks}\n`)).toMatchObject({
    hooks: [{ name: 'guard', kind: 'generic', input: 'before', output: 'window', isForAll: false }],
  });
  expect((await read()).isValid).toBe(true);
  expect((await call('/configuration/check', { text: 7 })).status).toBe(400);
});

test('a check tells neither what variables hold nor which there are', async () => {
  const of = async (variable: string) =>
    check(`channels:
  a: { provider: openai, apiKey: &s "\${${variable}}" }
  b: { provider: *s, apiKey: x }
  c: { provider: "a\${${variable}}b", baseUrl: "\${${variable}}" }
models: {}
conversations: { retentionDays: "\${${variable}}", neverKept: *s }`);
  const known = await of('GATEWAY_ADMIN_TOKEN');
  expect(JSON.stringify(known)).not.toContain(TOKEN);
  expect(known.unknownVariables).toEqual(['GATEWAY_ADMIN_TOKEN']);
  const missing = await of('NOT_KNOWN_HERE');
  expect(JSON.stringify(missing).replaceAll('NOT_KNOWN_HERE', 'GATEWAY_ADMIN_TOKEN')).toBe(
    JSON.stringify(known),
  );
});

test('a text whose aliases multiply it, or that is nested without end, is refused', async () => {
  const nine = (alias: string) => `[${Array.from({ length: 9 }, () => `*${alias}`)}]`;
  for (const text of [
    `a: &a [1]\nb: &b ${nine('a')}\nc: &c ${nine('b')}\nd: ${nine('c')}`,
    '['.repeat(50_000),
  ])
    expect((await call('/configuration/check', { text })).status).toBe(400);
});

test('a draft is edited, checked and compared without a secret of the file, and nothing is applied', async () => {
  await writeFile(admin.configurationPath, VALID);
  const draft = async (body: unknown) => {
    const response = await call('/configuration/draft', body);
    expect(response.status).toBe(200);
    return DraftedConfiguration.parse(await response.json());
  };
  const untouched = await draft({});
  expect(untouched).toMatchObject({ isValid: true, changes: [], diff: '' });
  const edits = [
    { op: 'add', path: ['models', 'gpt-5', 'routes'], value: { channel: 'two', weight: 5 } },
    { op: 'set', path: ['channels', 'one', 'cooldown'], value: 'off' },
  ];
  const drafted = await draft({ text: untouched.text, edits });
  expect(drafted).toMatchObject({
    ...{ isValid: true, channels: 2, models: 1 },
    changes: [
      { section: 'channels', name: 'one', kind: 'changed', text: 'Channel one: cooldown set to off' },
      { section: 'models', name: 'gpt-5', text: 'Route of gpt-5 at two added { weight: 5 }' },
    ],
    entries: { models: { 'gpt-5': { routes: [{ channel: 'one' }, { channel: 'two', weight: 5 }] } } },
  });
  expect(drafted.diff).toMatch(/^--- a\/gateway\.yaml\n\+\+\+ b\/gateway\.yaml\n@@ /);
  expect(drafted.diff).toContain(
    '+  gpt-5: { kind: text, routes: [ { channel: one }, { channel: two, weight: 5 } ] }',
  );
  expect(JSON.stringify([untouched, drafted])).not.toContain(SECRET);
  const broken = await draft({ edits: [{ op: 'remove', path: ['channels', 'one'] }] });
  expect(broken).toMatchObject({
    isValid: false,
    mistakes: [{ path: 'models.gpt-5.routes[0].channel' }],
    changes: [{ text: 'Channel one removed' }],
  });
  const refused = await call('/configuration/draft', { edits: [{ op: 'remove', path: ['models', 'none'] }] });
  expect(refused.status).toBe(400);
  expect(await refused.json()).toMatchObject({
    error: { path: 'edits[0]', message: 'There is no models.none.' },
  });
  expect((await read()).channels).toBe(2);
  await writeFile(admin.configurationPath, INVALID);
  expect((await call('/configuration/draft', {})).status).toBe(503);
});

test('a file that is gone is told', async () => {
  await rm(admin.configurationPath);
  expect(await read()).toMatchObject({ isValid: false, text: null, mistakes: [{ line: null }] });
});

test.for([
  ['quotes that are not closed', '"\n'.repeat(125_000)],
  ['lines of a percent sign', '%\n'.repeat(125_000)],
])('a text of %s is read in a thread within a time limit', async ([, text = '']) => {
  await expect(createTextCheck('gateway.yaml', 300)(text)).rejects.toMatchObject({
    code: 'invalid_value',
    message: expect.stringMatching(/takes too long.*check it in parts/),
  });
});
