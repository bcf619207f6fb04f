import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { expect, onTestFinished, test } from 'vitest';
import { checkConfiguration } from './check-command.ts';
import { startProvider, VALID_KEY } from './provider-for-tests.ts';

/** What `check` prints of a file, with its last line or its error. */
async function checked(text: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
  const { path, close } = await temporaryFolder();
  onTestFinished(close);
  const file = join(path, 'gateway.yaml');
  await writeFile(file, text);
  const out: string[] = [];
  const end = await checkConfiguration([file], { env, print: (line) => out.push(line) }).catch(
    (error: unknown) => String(error),
  );
  return [...out, end].join('\n').replaceAll(path, '');
}

const fileOf = (channels: string, models = '"*": { kind: text, routes: [{ channel: one }] }') =>
  `channels:\n${channels}\nmodels:\n  ${models}\n`;

test('a file whose providers take their keys can be used', async () => {
  const { url, asked } = await startProvider(['a', 'b']);
  const out = await checked(fileOf(`  one: { provider: openai, baseUrl: "${url}", apiKey: "\${KEY}" }`), {
    KEY: VALID_KEY,
  });
  expect(out).toMatch(
    /^CHANNEL +ACCOUNT +STATE\none +default +ready, 2 models\n\n\/gateway\.yaml can be used\.$/,
  );
  expect(asked).toMatchObject([{ path: '/v1/models' }]);
});

test('each account is asked with its own key, and a refusal is shown without it', async () => {
  const { url } = await startProvider(['a']);
  const wrong = 'sk-wrong-9876543210';
  const out = await checked(
    fileOf(`  one:
    provider: openai
    baseUrl: "${url}"
    apiKeys: { good: ${VALID_KEY}, bad: ${wrong} }`),
  );
  expect(out).toMatch(/one +good +ready, 1 model\n/);
  expect(out).toMatch(/one +bad +refused: 401: Incorrect API key provided: \[removed\]/);
  expect(out).toMatch(/1 of 2 accounts cannot be used yet\.$/);
  expect(out).not.toContain(wrong);
});

test('a server that is away, one that answers nonsense and one that is none of ours are told apart', async () => {
  const nonsense = await startProvider([], { answers: { '/v1/models': '<html>' }, needsKey: false });
  const other = await startProvider([], { answers: { '/v1/models': undefined }, needsKey: false });
  const huge = await startProvider([], {
    answers: { '/v1/models': 'x'.repeat(5_000_000) },
    needsKey: false,
  });
  const out = await checked(
    fileOf(`  one: { provider: ollama, baseUrl: "http://127.0.0.1:9/v1" }
  two: { provider: vllm, baseUrl: "${nonsense.url}" }
  three: { provider: openai-compatible, baseUrl: "${other.url}" }
  four: { provider: openai-compatible, baseUrl: "${huge.url}" }`),
  );
  expect(out).toMatch(/one +default +http:\/\/127\.0\.0\.1:9 cannot be reached: .*ECONNREFUSED/);
  expect(out).toMatch(/two +default +It answered with something else than a list of models: check baseUrl/);
  expect(out).toMatch(/three +default +404: no reason given/);
  expect(out).toMatch(/four +default +.* cannot be reached: /);
  expect(out).toMatch(/4 of 4 accounts cannot be used yet\.$/);
});

test('a provider without a list, and no name of a model, is not asked, and the answer says how to try it', async () => {
  const out = await checked(
    fileOf(
      '  one: { provider: bedrock, region: us-east-1, apiKey: x }',
      '"*": { kind: text, routes: [{ channel: one, speaks: [converse] }] }',
    ),
  );
  expect(out).toMatch(/one +default +not asked, .* channels test one\n/);
});

test('of a provider without a list the first text model that a route names is asked', async () => {
  const { asked, url } = await startProvider([], { answers: { '/model/nova/converse': { output: {} } } });
  const file = (key: string) =>
    fileOf(
      `  one: { provider: bedrock, region: us-east-1, baseUrl: "${new URL(url).origin}", apiKey: ${key} }`,
      `pictures: { kind: image, routes: [{ channel: one, model: "amazon.nova-canvas-v1:0" }] }
  quick: { kind: text, routes: [{ channel: one, model: nova, speaks: [converse] }] }`,
    );
  expect(await checked(file(VALID_KEY))).toMatch(/one +default +ready, nova answers\n/);
  expect(asked.map(({ path }) => path)).toEqual(['/model/nova/converse']);
  expect(await checked(file('wrong-9876543210'))).toMatch(
    /one +default +refused: nova: 401: Incorrect API key/,
  );
});

test("routes to what their provider does not list are named, but for Ollama's tags and patterns", async () => {
  const { url } = await startProvider(['llama3:latest', 'qwen'], { needsKey: false });
  const out = await checked(
    fileOf(
      `  one: { provider: ollama, baseUrl: "${url}" }`,
      `llama3: { kind: text, routes: [{ channel: one }] }
  quick: { kind: text, routes: [{ channel: one, model: qwen }] }
  slow: { kind: text, routes: [{ channel: one, model: mistral }] }
  "any-*": { kind: text, routes: [{ channel: one }] }`,
    ),
  );
  expect(out).toContain('other names of a model:\n  slow: one does not list mistral\n');
  expect(out).toMatch(/can be used\.$/);
});

test('mistakes of the file and a file that is not there are said as the gateway says them', async () => {
  expect(await checked('channels: 7')).toMatch(/gateway\.yaml has \d mistakes?:/);
  const out = checkConfiguration(['no-such-file.yaml'], { env: {}, print: () => {} });
  await expect(out).rejects.toThrow(/no such file/);
  const without = checkConfiguration([], { env: {}, print: () => {} });
  await expect(without).rejects.toThrow(/no gateway\.yaml, .* gateway -- init\.$/);
});

test.each([
  [['--nonsense'], 'check has no option --nonsense'],
  [['a', 'b'], 'Unexpected argument: b'],
])('the arguments %j are not understood', async (argv, message) => {
  await expect(checkConfiguration(argv, { env: {}, print: () => {} })).rejects.toThrow(message);
});
