import { foundry } from '@gateway/simulator/clouds/anthropics-paths';
import { bedrock } from '@gateway/simulator/clouds/bedrock';
import { vertex } from '@gateway/simulator/clouds/vertex';
import { type SimulatorOptions, startSimulator } from '@gateway/simulator/start-simulator';
import { parseConfiguration } from '@gateway/upstream/configuration/parse-configuration';
import { expect, onTestFinished, test } from 'vitest';
import { settle } from './clouds/settle.ts';

const KEYS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'a-secret-access-key-of-nobody' } as const;
const TOKEN = 'a-token-of-the-cloud';
const ARN = 'arn:aws:bedrock:eu-central-1:111122223333:application-inference-profile/abc';

async function started(options: SimulatorOptions) {
  const simulator = await startSimulator({ refusesUnknown: true, ...options });
  onTestFinished(() => simulator.close());
  return simulator;
}

async function settled(channels: string, models: readonly string[], listsOnly = false) {
  const lines: string[] = [];
  const routes = models.map((route, index) => `  m${index}: { kind: text, routes: [${route}] }`);
  const text = `channels:\n${channels}\nmodels:\n${routes.join('\n')}\n`;
  const configuration = parseConfiguration(text, 'gateway.yaml', {});
  const open = await settle({ configuration, only: null, listsOnly, print: (line) => lines.push(line) });
  return { open, text: lines.join('\n') };
}

/** What follows the question of this name about this model. */
const findingOf = (text: string, model: string, name: string): string =>
  text
    .split('\n\n')
    .concat(text.split('\n'))
    .find((part) => part.includes(`${model}:`) && part.includes(`[${name}]`)) ?? '';

const startBedrock = () => {
  const gate = { ...KEYS, region: 'eu-central-1', service: 'bedrock', endpoint: 'runtime' } as const;
  return started({ cloud: bedrock(gate) });
};
const AWS = `region: eu-central-1, auth: { type: aws, accessKeyId: ${KEYS.accessKeyId}, secretAccessKey: ${KEYS.secretAccessKey} }`;

test('what is unknown of Bedrock is asked with signed requests, and what to set is said', async () => {
  const { url } = await startBedrock();
  const channels = `  runtime: { provider: bedrock, baseUrl: "${url}", ${AWS} }\n  invoke: { provider: bedrock, endpoint: invoke, baseUrl: "${url}", ${AWS} }`;
  const { text } = await settled(channels, [
    '{ channel: runtime, model: eu.anthropic.claude-opus-5 }',
    `{ channel: invoke, model: "${ARN}" }`,
    '{ channel: runtime, model: eu.amazon.nova-2-lite-v1:0 }',
  ]);
  const runtime = (name: string) => findingOf(text, 'eu.anthropic.claude-opus-5', name);
  expect(findingOf(text, ARN, 'profile-on-messages')).toMatch(/no: 400 .*on-demand throughput/);
  expect(runtime('betas')).toMatch(
    /refused: prompt-caching-scope-2026-01-05\n {2}set: quirks: \{ refusedBetas: \[prompt-/,
  );
  expect(findingOf(text, ARN, 'betas')).toMatch(
    /refused: claude-code-20250219, .*advanced-tool-use-2025-11-20/,
  );
  expect(runtime('members')).toMatch(/refused: output_config\.format, tools\.\*\.strict\n/);
  expect(findingOf(text, ARN, 'newer-version')).toMatch(/yes: 200 /);
  expect(text).toMatch(/runtime to invoke: Is Claude's thinking .*\n {2}yes: 200/);
  expect(findingOf(text, 'eu.amazon.nova-2-lite-v1:0', 'converse-only-on-chat')).toMatch(/yes: 200/);
  expect(text).not.toContain(KEYS.secretAccessKey);
});

test('what is unknown of Vertex AI and Foundry is asked in their envelopes', async () => {
  const google = await started({
    cloud: vertex({ project: 'p1', location: 'eu', acceptsToken: (token) => token === TOKEN }),
  });
  const azure = await started({
    cloud: foundry({ apiKeys: [TOKEN], acceptsToken: () => false, deployments: ['our-opus', 'our-gpt'] }),
  });
  const channels = `  vertex: { provider: vertex, project: p1, location: eu, baseUrl: "${google.url}", apiKey: unused, headers: { authorization: "Bearer ${TOKEN}" } }
  foundry: { provider: foundry, resource: ours, baseUrl: "${azure.url}", apiKey: ${TOKEN} }`;
  const { text } = await settled(channels, [
    '{ channel: vertex, model: claude-opus-5 }',
    '{ channel: foundry, model: our-opus, speaks: [messages] }',
    '{ channel: foundry, model: our-gpt }',
    '{ channel: foundry, model: lost, speaks: [messages] }',
  ]);
  expect(findingOf(text, 'claude-opus-5', 'betas')).toMatch(
    /refused: effort-2025-11-24, prompt-caching-scope/,
  );
  expect(findingOf(text, 'claude-opus-5', 'newer-version')).toMatch(/yes: 200 /);
  expect(findingOf(text, 'our-opus', 'rate-limit-headers')).toMatch(/yes: anthropic-ratelimit-/);
  expect(findingOf(text, 'our-opus', 'role-for-claude')).toMatch(/yes: 200/);
  expect(findingOf(text, 'our-gpt', 'spillover-header')).toMatch(/unclear: none of its headers/);
  expect(findingOf(text, 'lost', 'role-for-claude')).toMatch(/unclear: 404 .*DeploymentNotFound/);
});

test('what is unknown of Gemini is asked too', async () => {
  const { url } = await started({});
  const channels = `  gemini: { provider: gemini, baseUrl: "${url}/v1beta", apiKey: some-key }`;
  const { text } = await settled(channels, ['{ channel: gemini, model: gemini-3.1-pro }']);
  for (const name of ['json-schema', 'thoughts-in-output', 'large-inline-data', 'imagen-listed'])
    expect(findingOf(text, 'gemini-3.1-pro', name)).toMatch(/\n {2}(?:yes|no|unclear): \S/);
  expect(findingOf(text, 'gemini-3.1-pro', 'json-schema')).toMatch(/yes: all are taken/);
});

test('listed questions are not asked, an address that does not answer leaves them open, and the rest is named', async () => {
  const simulator = await startBedrock();
  const channels = `  runtime: { provider: bedrock, baseUrl: "${simulator.url}", ${AWS} }`;
  const routes = ['{ channel: runtime, model: eu.anthropic.claude-opus-5 }'];
  const listed = await settled(channels, routes, true);
  expect(simulator.requests).toEqual([]);
  expect(listed.text).toMatch(/Are the betas of present clients taken\?/);
  expect(listed.text).toMatch(/Not to be settled by requests:\n {2}The shape of an error/);
  await simulator.refuse();
  expect(await settled(channels, routes)).toMatchObject({
    open: 3,
    text: expect.stringMatching(/unclear: no answer/),
  });
});
