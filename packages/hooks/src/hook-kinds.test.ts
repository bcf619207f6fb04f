import { createMetrics } from '@gateway/service-kit/metrics';
import { bedrock } from '@gateway/simulator/clouds/bedrock';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { type HookServer, intervened, NONE, startHookServer } from '@gateway/testkit/start-hook-server';
import { parseConfiguration } from '@gateway/upstream/configuration/parse-configuration';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { type Hooks, openHooks } from './open-hooks.ts';
import type { RequestHooks } from './request-hooks.ts';

const KEYS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'a-secret-of-nobody' };

let models: Simulator;
let aws: Simulator;
let server: HookServer;
let hooks: Hooks;
const onProblem = vi.fn();
beforeAll(async () => {
  const gate = { ...KEYS, region: 'eu-central-1', service: 'bedrock', endpoint: 'runtime' } as const;
  [models, aws, server] = await Promise.all([
    startSimulator(),
    startSimulator({ cloud: bedrock({ ...gate, apiKeys: ['bedrock-api-key'] }) }),
    startHookServer(),
  ]);
  hooks = openHooks({ metrics: createMetrics('test'), onProblem, onReported: () => undefined });
});
afterAll(async () => {
  await hooks.close();
  await Promise.all([models.close(), aws.close(), server[Symbol.asyncDispose]()]);
});
afterEach(() => {
  onProblem.mockClear();
  server.reset();
});

/** The hooks of a configuration, for a request of this team. */
async function hooksOf(section: string, team: string | null = null): Promise<RequestHooks> {
  const text = `channels: { any: { provider: simulator, baseUrl: "${models.url}" } }
models: { m: { kind: text, routes: [{ channel: any }] } }
hooks:
${section}`;
  const begun = hooks.begin(parseConfiguration(text, 'gateway.yaml', {}), {
    identity: { keyId: 'key_1', keyName: 'one', team },
    model: 'm',
    requestId: 'req_1',
    endUser: null,
    signal: new AbortController().signal,
    onNote: () => undefined,
  });
  if (begun === null) throw new Error('no hook');
  return begun;
}

const check = async (section: string, ...texts: string[]) =>
  (await hooksOf(section)).before(
    texts,
    texts.map(() => 'user'),
  );

test("OpenAI's moderations block what they flag, and say for what", async () => {
  const section = `  mod: { kind: moderation, baseUrl: "${models.url}/v1", apiKey: sk-of-moderation }`;
  expect(await check(section, 'Hello', 'How are you?')).toEqual({ isBlocked: false, texts: null });
  const request = await models.nextRequest(({ path }) => path === '/v1/moderations');
  expect(request.json()).toEqual({ model: 'omni-moderation-latest', input: ['Hello', 'How are you?'] });
  expect(request.headers.authorization).toBe('Bearer sk-of-moderation');
  expect(await check(section, 'Hello', 'I hate you and I will kill you')).toMatchObject({
    isBlocked: true,
    error: {
      code: 'guardrail_blocked',
      message: "The request was blocked by the check 'mod'. Its reason: hate, violence",
    },
  });
});

test.for([
  [
    'a signature',
    `auth: { type: aws, accessKeyId: ${KEYS.accessKeyId}, secretAccessKey: ${KEYS.secretAccessKey} }`,
  ],
  ['an API key', 'apiKey: bedrock-api-key'],
])("Bedrock's guardrails block and mask, by %s", async ([, credentials]) => {
  const section = `  aws: { kind: bedrock, baseUrl: "${aws.url}", region: eu-central-1, guardrail: { id: abc123, version: DRAFT }, ${credentials} }`;
  expect(await check(section, 'Hello')).toEqual({ isBlocked: false, texts: null });
  expect(await check(section, 'Hello', 'I am ada@example.com')).toEqual({
    isBlocked: false,
    texts: ['Hello', 'I am {EMAIL}'],
  });
  expect(await check(section, 'How do I build a bomb?')).toMatchObject({
    isBlocked: true,
    error: { message: expect.stringContaining('cannot answer') },
  });
  const [request] = aws.requests;
  expect(request?.path).toBe('/guardrail/abc123/version/DRAFT/apply');
  expect(request?.json()).toEqual({ source: 'INPUT', content: [{ text: { text: 'Hello' } }] });
});

test('each hook gets what the one before it has made of a text', async () => {
  server.answer(({ texts, body }) =>
    intervened(texts.map((text) => `${text}${JSON.stringify(body.additional_provider_specific_params)}`)),
  );
  const section = `  one: { kind: generic, baseUrl: "${server.url}", params: { at: 1 } }
  two: { kind: generic, baseUrl: "${server.url}", params: { at: 2 } }`;
  expect(await check(section, 'a')).toEqual({ isBlocked: false, texts: ['a{"at":1}{"at":2}'] });
});

test('rules choose by team, key and model; all that a rule names must fit', async () => {
  const section = `  one: { kind: generic, baseUrl: "${server.url}", rules: [{ teams: [search], models: [m] }, { keys: [key_2] }] }`;
  await expect(hooksOf(section)).rejects.toThrow('no hook');
  await expect(hooksOf(section, 'other')).rejects.toThrow('no hook');
  expect(await hooksOf(section, 'search')).toBeDefined();
});

test('an answer with other texts or of another kind is no verdict', async () => {
  const section = `  one: { kind: generic, baseUrl: "${server.url}", apiKey: a-key-of-the-hook }`;
  const failures = [
    [{ json: { action: 'ALLOW' } }, 'it answers nonsense: action cannot be read'],
    [{ json: { action: 'GUARDRAIL_INTERVENED', texts: ['a', 'b'] } }, 'it returns 2 texts for 1'],
    [{ json: { action: 'GUARDRAIL_INTERVENED', texts: [1] } }, 'it answers nonsense: texts.0 cannot be read'],
    [{ raw: 'a-key-of-the-hook' }, 'it answers something that is not JSON'],
  ] as const;
  for (const [answer, reason] of failures) {
    server.answer(() => answer);
    expect(await check(section, 'a')).toMatchObject({
      isBlocked: true,
      error: { code: 'guardrail_unavailable' },
    });
    expect(onProblem).toHaveBeenLastCalledWith(expect.objectContaining({ hook: 'one', reason }));
  }
});

test('a server that answers too slowly or too much is no verdict', async () => {
  const section = `  slow: { kind: generic, baseUrl: "${server.url}", timeoutMs: 50, onFailure: pass }`;
  server.answer(() => ({ fault: 'hang' }));
  expect(await check(section, 'a')).toEqual({ isBlocked: false, texts: null });
  expect(onProblem).toHaveBeenLastCalledWith(
    expect.objectContaining({ reason: 'it did not answer within 50 ms', onFailure: 'pass' }),
  );
  const large = `  large: { kind: generic, baseUrl: "${server.url}", apiKey: a-key-of-the-hook }`;
  server.answer(() => ({ raw: `"${'x'.repeat(9 * 1024 ** 2)}"` }));
  expect(await check(large, 'a')).toMatchObject({ isBlocked: true });
  server.answer(() => NONE);
  expect(await check(large, 'a')).toEqual({ isBlocked: false, texts: null });
});

test('credentials that do not come in time are no verdict', async () => {
  const own = { AWS_CONTAINER_CREDENTIALS_FULL_URI: `${server.url}/credentials` };
  const others = ['AWS_PROFILE', 'AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_WEB_IDENTITY_TOKEN_FILE'];
  const files = { AWS_CONFIG_FILE: '/nowhere/config', AWS_SHARED_CREDENTIALS_FILE: '/nowhere/credentials' };
  for (const name of others) vi.stubEnv(name, undefined);
  for (const [name, value] of Object.entries({ ...own, ...files })) vi.stubEnv(name, value);
  server.answer(() => ({ fault: 'hang' }));
  const section = `  aws: { kind: bedrock, baseUrl: "${aws.url}", region: eu-central-1, guardrail: { id: abc123, version: "1" }, auth: { type: aws }, timeoutMs: 100 }`;
  expect(await check(section, 'a')).toMatchObject({
    isBlocked: true,
    error: { code: 'guardrail_unavailable' },
  });
  expect(onProblem).toHaveBeenLastCalledWith(
    expect.objectContaining({ reason: 'it did not answer within 100 ms' }),
  );
  vi.unstubAllEnvs();
});

test('a generic hook gets what it is to get beside the texts, and cannot change images', async () => {
  const surroundings = {
    images: ['data:image/png;base64,AAAA'],
    namedImages: 0,
    tools: [{ type: 'function' }],
    toolCalls: [],
  };
  const ask = async (include: string) => {
    const section = `  one: { kind: generic, baseUrl: "${server.url}"${include} }`;
    return (await hooksOf(section)).before([], [], surroundings);
  };
  await ask('');
  expect(server.requests).toHaveLength(0);
  await ask(', include: [images]');
  expect(server.requests[0]?.body).toMatchObject({ texts: [], images: surroundings.images });
  expect(server.requests[0]?.body).not.toHaveProperty('tools');
  const answers = (images: readonly string[]) =>
    server.answer(() => ({ json: { action: 'GUARDRAIL_INTERVENED', texts: [], images } }));
  answers(surroundings.images);
  expect(await ask(', include: [images, tools]')).toEqual({ isBlocked: false, texts: null });
  expect(server.requests.at(-1)?.body).toMatchObject({ tools: surroundings.tools, tool_calls: [] });
  answers(['data:image/png;base64,BBBB']);
  expect(await ask(', include: [images, tools]')).toMatchObject({ isBlocked: true });
});

test('an image of which there is nothing to send fails the check of a hook that gets images', async () => {
  const surroundings = { images: [], namedImages: 1, tools: [], toolCalls: [] };
  const ask = async (settings: string, texts: readonly string[]) => {
    const section = `  one: { kind: generic, baseUrl: "${server.url}", ${settings} }`;
    return (await hooksOf(section)).before(
      texts,
      texts.map(() => 'user'),
      surroundings,
    );
  };
  for (const texts of [[], ['a']])
    expect(await ask('include: [images]', texts)).toMatchObject({
      isBlocked: true,
      error: { code: 'guardrail_blocked', message: expect.stringContaining('Send images as URLs') },
    });
  expect(server.requests).toHaveLength(0);
  const passed = { isBlocked: false, texts: null };
  expect(await ask('include: [images], onFailure: pass', ['a'])).toEqual(passed);
  expect(onProblem).toHaveBeenLastCalledWith(expect.objectContaining({ onFailure: 'pass' }));
  expect(await ask('include: [tools]', ['a'])).toEqual(passed);
  expect(server.requests).toHaveLength(1);
});
