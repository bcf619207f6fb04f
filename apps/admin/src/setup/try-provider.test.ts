import { expect, test } from 'vitest';
import { startProvider, VALID_KEY } from './provider-for-tests.ts';
import { createTryProvider } from './try-provider.ts';

const OTHER_SECRET = 'the-gateway-secret-0123456789';
const ENV = { OPENAI_API_KEY: VALID_KEY, GATEWAY_SECRET: OTHER_SECRET };
const tryProvider = createTryProvider(ENV);

const refused = async () => {
  const { url, asked } = await startProvider(['gpt-5.2']);
  const key = 'sk-wrong-0123456789';
  return { found: await tryProvider({ name: 'one', provider: 'openai', baseUrl: url, key }), key, asked };
};

test('a valid key brings the models with their kinds, and the entries that fit them', async () => {
  const { url } = await startProvider(['gpt-5.2', 'gpt-image-2', 'text-embedding-3-small', 'babbage-002']);
  const found = await tryProvider({ name: 'one', provider: 'openai', baseUrl: url, key: VALID_KEY });
  expect(found).toMatchObject({ outcome: 'listed', reason: null, advice: null });
  expect(found.models).toContainEqual({ name: 'text-embedding-3-small', kind: 'embedding' });
  expect(found.proposal.map(({ name, entry }) => [name, entry.kind])).toEqual([
    ['gpt-*', 'text'],
    ['gpt-image-*', 'image'],
    ['text-embedding-*', 'embedding'],
  ]);
});

test('a key that is refused is in no answer, and the person learns what to check', async () => {
  const { found, key } = await refused();
  expect(found).toMatchObject({ outcome: 'refused', models: expect.any(Array), proposal: [] });
  expect(found.advice).toContain('Check that the key is whole');
  expect(JSON.stringify(found)).not.toContain(key);
});

test("a variable's value is sent to its provider's own address only, and no other variable's to anywhere", async () => {
  const { url, asked } = await startProvider(['gpt-5.2']);
  for (const trial of [
    { provider: 'openai', baseUrl: url, variable: 'OPENAI_API_KEY' },
    { provider: 'openai-compatible', baseUrl: url, variable: 'GATEWAY_SECRET' },
    { provider: 'openai', variable: 'GATEWAY_SECRET' },
    { provider: 'anthropic', variable: 'OPENAI_API_KEY' },
    { provider: 'groq', variable: 'GROQ_API_KEY' },
  ])
    expect(await tryProvider({ name: 'one', ...trial })).toMatchObject({ outcome: 'untried' });
  expect(asked).toEqual([]);
});

test('a reference to a variable in what was typed is sent as it is typed', async () => {
  const { url, asked } = await startProvider(['gpt-5.2']);
  const key = `\${GATEWAY_SECRET}`;
  expect(await tryProvider({ name: 'one', provider: 'openai', baseUrl: url, key })).toMatchObject({
    outcome: 'refused',
  });
  expect(asked[0]?.headers.authorization).toBe(`Bearer ${key}`);
  await tryProvider({ name: 'one', provider: 'openai', baseUrl: `${url}/${key}`, key: VALID_KEY });
  expect(JSON.stringify(asked)).not.toContain(OTHER_SECRET);
});

test('a server that answers something else, or nothing, says so', async () => {
  const { url } = await startProvider([], { answers: { '/v1/models': '<html>It works!</html>' } });
  const nonsense = await tryProvider({ name: 'one', provider: 'openai', baseUrl: url, key: VALID_KEY });
  expect(nonsense.outcome).toBe('failed');
  expect(nonsense.reason).toContain('something else than a list of models');
  const dead = await tryProvider({ name: 'one', provider: 'vllm', baseUrl: 'http://127.0.0.1:9/v1' });
  expect(dead.outcome).toBe('unreachable');
  expect(dead.advice).toContain('In a container');
  const empty = await startProvider([], { needsKey: false });
  const none = await tryProvider({ name: 'one', provider: 'vllm', baseUrl: empty.url });
  expect(none).toMatchObject({ outcome: 'listed', models: [] });
  expect(none.advice).toContain('no models yet');
});

test('a provider that lists none is not asked, and the catalogue names its current models', async () => {
  const found = await tryProvider({ name: 'one', provider: 'elevenlabs', key: VALID_KEY });
  expect(found.outcome).toBe('unlisted');
  expect(found.models.map(({ kind }) => kind)).not.toContain('text');
});

test('what the configuration would refuse is refused in its words', async () => {
  for (const [trial, words] of [
    [{ provider: 'openai' }, "channels.one.apiKey: found nothing, expected the provider's key"],
    [{ provider: 'openai-compatible' }, 'channels.one.baseUrl: found nothing'],
    [{ provider: 'opnai' }, 'channels.one.provider'],
    [{ provider: 'vllm', baseUrl: 'http://ann:secret@host/v1' }, 'a URL without user and password'],
    [{ provider: 'vllm', baseUrl: 'file:///etc/passwd' }, 'a URL that begins with http:// or https://'],
    [{ provider: 'foundry', settings: { resource: 'evil.example/' }, key: VALID_KEY }, "a resource's name"],
  ] as const)
    await expect(tryProvider({ name: 'one', ...trial })).rejects.toMatchObject({
      code: 'invalid_value',
      message: expect.stringContaining(words),
    });
});

test('at most eight are tried at a time', async () => {
  const { url } = await startProvider(['gpt-5.2']);
  const trial = { name: 'one', provider: 'openai', baseUrl: url, key: VALID_KEY };
  const ends = await Promise.allSettled(Array.from({ length: 9 }, () => tryProvider(trial)));
  expect(ends.map(({ status }) => status)).toEqual([...Array(8).fill('fulfilled'), 'rejected']);
  expect(ends.at(-1)).toMatchObject({ reason: { code: 'overloaded' } });
});

const NOVA = 'eu.amazon.nova-2-pro-v1:0';
const CLOUD = { provider: 'bedrock', settings: { region: 'eu-central-1' } };

test('where a provider lists none, the model that is named is asked, and is what can be chosen', async () => {
  const { url, asked } = await startProvider([], {
    answers: { [`/model/${encodeURIComponent(NOVA)}/converse`]: { output: {} } },
  });
  const trial = { name: 'one', ...CLOUD, baseUrl: new URL(url).origin };
  const found = await tryProvider({ ...trial, key: VALID_KEY, model: NOVA });
  expect(found).toMatchObject({
    outcome: 'accepted',
    advice: expect.stringMatching(/^The model answers/),
    proposal: [{ name: NOVA, entry: { kind: 'text' } }],
  });
  expect(asked).toHaveLength(1);
  const refused = await tryProvider({ ...trial, key: 'wrong-0123456789', model: NOVA });
  expect(refused).toMatchObject({ outcome: 'refused', proposal: [] });
  expect(await tryProvider({ ...trial, key: VALID_KEY })).toMatchObject({ outcome: 'unlisted' });
});

test("the machine's own credentials go nowhere but to their own cloud", async () => {
  const { url, asked } = await startProvider([]);
  const trial = { name: 'one', ...CLOUD, identity: true as const, model: NOVA };
  expect(await tryProvider({ ...trial, baseUrl: url })).toMatchObject({
    outcome: 'untried',
    reason: expect.stringContaining("to the provider's own address only"),
    advice: expect.not.stringContaining('key'),
  });
  expect(asked).toEqual([]);
  await expect(tryProvider({ name: 'one', provider: 'openai', identity: true })).rejects.toThrow(
    /has keys only/,
  );
});
