import { bedrock } from '@gateway/simulator/clouds/bedrock';
import type { Cloud } from '@gateway/simulator/clouds/cloud';
import { vertex } from '@gateway/simulator/clouds/vertex';
import { startSimulator } from '@gateway/simulator/start-simulator';
import { expect, onTestFinished, test } from 'vitest';
import { parseConfiguration } from '../configuration/parse-configuration.ts';
import { tryModel } from './try-model.ts';

const AWS = {
  region: 'eu-central-1',
  service: 'bedrock',
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'own-secret',
};

/** What is said of a model at a cloud, and what was asked there. */
async function tried(cloud: Cloud, entry: string, model: string) {
  const simulator = await startSimulator({ cloud });
  onTestFinished(() => simulator.close());
  const text = `channels: { cloud: { baseUrl: "${simulator.url}", ${entry} } }\nmodels: {}\n`;
  const channel = parseConfiguration(text, 'gateway.yaml', {}).channels.get('cloud');
  if (channel === undefined) throw new Error('no channel');
  const found = await tryModel(channel, channel.accounts[0], { model });
  return { found, requests: simulator.requests.map(({ path, body }) => [path, JSON.parse(body.toString())]) };
}

const signed = (secret: string) =>
  `provider: bedrock, region: eu-central-1, auth: { type: aws, accessKeyId: AKIDEXAMPLE, secretAccessKey: ${secret} }`;
const atBedrock = bedrock({ ...AWS, endpoint: 'runtime', apiKeys: ['bedrock-key'] });
const atVertex = vertex({ project: 'house', location: 'global', acceptsToken: () => true });
const ON_VERTEX =
  'provider: vertex, project: house, location: global, headers: { authorization: Bearer t }, apiKey: k';

test.for([
  ['eu.anthropic.claude-opus-5', '/anthropic/v1/messages'],
  ['eu.amazon.nova-2-pro-v1:0', '/model/eu.amazon.nova-2-pro-v1%3A0/converse'],
  ['openai.gpt-oss-120b', '/openai/v1/chat/completions'],
] as const)('%s at Bedrock answers a signed request in its own protocol', async ([model, path]) => {
  const { found, requests } = await tried(atBedrock, signed('own-secret'), model);
  expect(found).toEqual({ outcome: 'accepted' });
  expect(requests.map(([asked]) => asked)).toEqual([path]);
});

test('an API key of Bedrock is taken as well', async () => {
  const entry = 'provider: bedrock, region: eu-central-1, apiKey: bedrock-key';
  expect((await tried(atBedrock, entry, 'eu.anthropic.claude-opus-5')).found).toEqual({
    outcome: 'accepted',
  });
});

test.for(['claude-opus-5', 'gemini-3-pro'])('%s at Vertex AI answers in its own protocol', async (model) => {
  const { found, requests } = await tried(atVertex, ON_VERTEX, model);
  expect(found).toEqual({ outcome: 'accepted' });
  const [[path, body] = []] = requests;
  expect(path).toContain(`/v1/projects/house/locations/global/publishers/`);
  // The path names the model.
  expect(body).not.toHaveProperty('model');
});

test("credentials that are refused, and a model's own refusal, are said in the cloud's words", async () => {
  const refused = await tried(atBedrock, signed('another-secret'), 'eu.anthropic.claude-opus-5');
  expect(refused.found).toMatchObject({
    outcome: 'refused',
    reason: expect.stringMatching(/^403: The request signature we calculated does not match/),
  });
  const plain = await tried(atBedrock, signed('own-secret'), 'anthropic.claude-opus-5');
  expect(plain.found).toMatchObject({
    outcome: 'failed',
    reason: expect.stringMatching(/^400: .*Retry your request with the ID or ARN of an inference profile/),
  });
});

test('a model that makes no text is not asked', async () => {
  const { found, requests } = await tried(atVertex, ON_VERTEX, 'imagen-5');
  expect(found).toEqual({ outcome: 'unlisted' });
  expect(requests).toEqual([]);
});
