import { AnthropicAws } from '@anthropic-ai/aws-sdk';
import { AnthropicFoundry } from '@anthropic-ai/foundry-sdk';
import type { MessageCreateParamsNonStreaming } from '@anthropic-ai/sdk/resources/messages';
import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { startSimulator } from '../start-simulator.ts';
import { anthropicAws, foundry } from './anthropics-paths.ts';
import type { Cloud } from './cloud.ts';

const TOKEN = 'a-token-of-the-cloud';
const ASKED: MessageCreateParamsNonStreaming = {
  model: 'claude-opus-5',
  max_tokens: 20,
  messages: [{ role: 'user', content: 'Hello' }],
};

/** What the vendor's own client gets: whole, streamed, and as a refusal. */
async function asked(
  cloud: Cloud,
  open: (url: string) => { readonly messages: Pick<AnthropicAws['messages'], 'create'> },
) {
  await using simulator = await startSimulator({ cloud });
  const { messages } = open(simulator.url);
  const whole = await messages.create(ASKED);
  let streamed = '';
  for await (const event of await messages.create({ ...ASKED, stream: true }))
    if (event.type === 'content_block_delta' && event.delta.type === 'text_delta')
      streamed += event.delta.text;
  return [whole.content, [{ type: 'text', text: streamed }]];
}

const TEXT = [expect.objectContaining({ type: 'text', text: 'You said: Hello' })];

test("Claude Platform on AWS lets Anthropic's own client in, by its signature", async () => {
  const keys = {
    accessKeyId: 'AKIDEXAMPLE',
    secretAccessKey: 'a-secret-access-key',
    sessionToken: 'a+session/token=',
  };
  const gate = { ...keys, region: 'us-west-2', service: 'aws-external-anthropic', workspaceId: 'wrkspc_1' };
  const open = (secret: string) => (baseURL: string) =>
    new AnthropicAws({
      baseURL,
      awsRegion: gate.region,
      awsAccessKey: keys.accessKeyId,
      awsSecretAccessKey: secret,
      awsSessionToken: keys.sessionToken,
      workspaceId: gate.workspaceId,
      maxRetries: 0,
    });
  expect(await asked(anthropicAws(gate), open(keys.secretAccessKey))).toEqual([TEXT, TEXT]);
  await expect(asked(anthropicAws(gate), open('another-secret'))).rejects.toThrow(/does not match/);
  await expect(
    asked(anthropicAws({ ...gate, service: 'bedrock' }), open(keys.secretAccessKey)),
  ).rejects.toThrow(/correct service/);
});

test("Foundry takes what Anthropic's and OpenAI's own clients send", async () => {
  const cloud = foundry({
    apiKeys: [TOKEN],
    acceptsToken: () => false,
    deployments: ['claude-opus-5', 'our-gpt'],
  });
  const open = (url: string) =>
    new AnthropicFoundry({ baseURL: `${url}/anthropic`, apiKey: TOKEN, maxRetries: 0 });
  expect(await asked(cloud, open)).toEqual([TEXT, TEXT]);
  await using simulator = await startSimulator({ cloud });
  const openai = new OpenAI({
    baseURL: `${simulator.url}/openai/v1`,
    apiKey: TOKEN,
    defaultHeaders: { 'api-key': TOKEN, authorization: null },
    maxRetries: 0,
  });
  const { output_text: text } = await openai.responses.create({ model: 'our-gpt', input: 'Hello' });
  expect(text).toBe('You said: Hello');
  await expect(openai.responses.create({ model: 'no-deployment', input: 'Hello' })).rejects.toThrow(
    /does not exist/,
  );
});
