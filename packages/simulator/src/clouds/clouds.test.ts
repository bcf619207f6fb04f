import { once } from 'node:events';
import { createServer } from 'node:http';
import { AnthropicAws } from '@anthropic-ai/aws-sdk';
import { AnthropicBedrock, AnthropicBedrockMantle } from '@anthropic-ai/bedrock-sdk';
import { AnthropicFoundry } from '@anthropic-ai/foundry-sdk';
import type { MessageCreateParamsNonStreaming, Messages } from '@anthropic-ai/sdk/resources/messages';
import { AnthropicVertex } from '@anthropic-ai/vertex-sdk';
import { GoogleGenAI } from '@google/genai';
import { OAuth2Client } from 'google-auth-library';
import OpenAI, { AzureOpenAI } from 'openai';
import { bedrock as openaiOnBedrock } from 'openai/providers/bedrock';
import { vertex as openaiOnVertex } from 'openai/providers/vertex';
import { expect, onTestFinished, test } from 'vitest';
import { startSimulator } from '../start-simulator.ts';
import { anthropicAws, foundry } from './anthropics-paths.ts';
import { bedrock } from './bedrock.ts';
import type { Cloud } from './cloud.ts';
import { vertex } from './vertex.ts';

const TOKEN = 'a-token-of-the-cloud';
const ASKED: MessageCreateParamsNonStreaming = {
  model: 'claude-opus-5',
  max_tokens: 20,
  messages: [{ role: 'user', content: 'Hello' }],
};

/** What the vendor's own client gets: whole, streamed, and as a refusal. */
async function asked(
  cloud: Cloud,
  open: (url: string) => { readonly messages: Pick<Messages, 'create'> },
  model: string = ASKED.model,
) {
  await using simulator = await startSimulator({ cloud });
  const { messages } = open(simulator.url);
  const whole = await messages.create({ ...ASKED, model });
  let streamed = '';
  for await (const event of await messages.create({ ...ASKED, model, stream: true }))
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

const MANTLE = { region: 'eu-central-1', service: 'bedrock-mantle', endpoint: 'mantle' } as const;

test("Bedrock's mantle lets Anthropic's own client in, by its signature and by a key of Bedrock's", async () => {
  const keys = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'a-secret-access-key' };
  const cloud = bedrock({ ...MANTLE, ...keys, apiKeys: [TOKEN] });
  const open = (credentials: object) => (url: string) =>
    new AnthropicBedrockMantle({
      baseURL: `${url}/anthropic`,
      awsRegion: MANTLE.region,
      maxRetries: 0,
      ...credentials,
    });
  const signed = (secret: string) => open({ awsAccessKey: keys.accessKeyId, awsSecretAccessKey: secret });
  const model = 'anthropic.claude-opus-5';
  expect(await asked(cloud, signed(keys.secretAccessKey), model)).toEqual([TEXT, TEXT]);
  expect(await asked(cloud, open({ apiKey: TOKEN }), model)).toEqual([TEXT, TEXT]);
  await expect(asked(cloud, signed('another-secret'), model)).rejects.toThrow(/does not match/);
  await expect(asked(cloud, signed(keys.secretAccessKey), `eu.${model}`)).rejects.toThrow(/not_found/);
});

test("Bedrock's InvokeModel takes what Anthropic's own client sends, a profile's ARN included", async () => {
  const keys = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'a-secret-access-key' };
  const gate = { ...keys, region: 'eu-central-1', service: 'bedrock' };
  const cloud = bedrock({ ...gate, endpoint: 'runtime' });
  const signed = (secret: string) => (baseURL: string) =>
    new AnthropicBedrock({
      baseURL,
      awsRegion: gate.region,
      awsAccessKey: keys.accessKeyId,
      awsSecretKey: secret,
      maxRetries: 0,
    });
  const arn = 'arn:aws:bedrock:eu-central-1:111122223333:application-inference-profile/abc';
  for (const model of ['eu.anthropic.claude-opus-5', arn])
    expect(await asked(cloud, signed(keys.secretAccessKey), model)).toEqual([TEXT, TEXT]);
  await expect(asked(cloud, signed('another-secret'), arn)).rejects.toThrow(/does not match/);
});

test("Bedrock takes what OpenAI's own client sends", async () => {
  const cloud = bedrock({ ...MANTLE, accessKeyId: '', secretAccessKey: '', apiKeys: [TOKEN] });
  await using simulator = await startSimulator({ cloud });
  const open = (apiKey: string) =>
    new OpenAI({
      provider: openaiOnBedrock({ baseURL: `${simulator.url}/openai/v1`, apiKey }),
      maxRetries: 0,
    });
  const { output_text: text } = await open(TOKEN).responses.create({
    model: 'openai.gpt-5.2',
    input: 'Hello',
  });
  expect(text).toBe('You said: Hello');
  await expect(open('no-key').responses.create({ model: 'openai.gpt-5.2', input: 'Hello' })).rejects.toThrow(
    /403/,
  );
});

const PROJECT = { project: 'p1', location: 'eu', acceptsToken: (token: string) => token === TOKEN };
const googleClient = (token: string): OAuth2Client => {
  const client = new OAuth2Client();
  client.setCredentials({ access_token: token, expiry_date: Date.now() + 3_600_000 });
  return client;
};

test("Vertex AI takes Anthropic's own client, with the tokens of Google's library", async () => {
  const open = (token: string) => (url: string) =>
    new AnthropicVertex({
      baseURL: `${url}/v1`,
      region: PROJECT.location,
      projectId: PROJECT.project,
      authClient: googleClient(token),
      maxRetries: 0,
    });
  const cloud = vertex(PROJECT);
  expect(await asked(cloud, open(TOKEN), 'claude-opus-4-5@20251101')).toEqual([TEXT, TEXT]);
  await expect(asked(cloud, open('an-old-token'))).rejects.toThrow(/invalid authentication credentials/);
  await expect(asked(vertex({ ...PROJECT, project: 'p2' }), open(TOKEN))).rejects.toThrow(/denied/);
  await using simulator = await startSimulator({ cloud });
  const { model, messages } = ASKED;
  const { input_tokens: count } = await open(TOKEN)(simulator.url).messages.countTokens({ model, messages });
  expect(count).toBeGreaterThan(0);
});

test("Vertex AI takes what OpenAI's own client sends", async () => {
  await using simulator = await startSimulator({ cloud: vertex(PROJECT) });
  const baseURL = `${simulator.url}/v1/projects/p1/locations/eu/publishers/openai/v1`;
  const provider = openaiOnVertex({ baseURL, tokenProvider: () => TOKEN });
  const openai = new OpenAI({ provider, maxRetries: 0 });
  const { output_text: text } = await openai.responses.create({ model: 'gpt-5.2', input: 'Hello' });
  expect(text).toBe('You said: Hello');
});

test("OpenAI's client for Azure is let in by a key and by a token of Entra ID", async () => {
  const cloud = foundry({
    apiKeys: [TOKEN],
    acceptsToken: (token) => token === 'of-entra',
    deployments: ['our-gpt'],
  });
  await using simulator = await startSimulator({ cloud });
  const open = (credentials: object) =>
    new AzureOpenAI({
      baseURL: `${simulator.url}/openai/v1`,
      apiVersion: 'preview',
      maxRetries: 0,
      ...credentials,
    });
  for (const credentials of [{ apiKey: TOKEN }, { azureADTokenProvider: async () => 'of-entra' }]) {
    const { output_text: text } = await open(credentials).responses.create({
      model: 'our-gpt',
      input: 'Hello',
    });
    expect(text).toBe('You said: Hello');
  }
  await expect(
    open({ azureADTokenProvider: async () => 'of-another-audience' }).responses.create({
      model: 'our-gpt',
      input: 'Hello',
    }),
  ).rejects.toThrow(/Access denied/);
});

test("OpenAI's client for Azure is let in by the older paths, which name the deployment and a version", async () => {
  const cloud = foundry({ apiKeys: [TOKEN], acceptsToken: () => false, deployments: ['our-gpt'] });
  await using simulator = await startSimulator({ cloud });
  const openai = new AzureOpenAI({
    endpoint: simulator.url,
    apiVersion: '2025-04-01-preview',
    apiKey: TOKEN,
    maxRetries: 0,
  });
  const chat = (model: string) =>
    openai.chat.completions.create({ model, messages: [{ role: 'user', content: 'Hello' }] });
  expect((await chat('our-gpt')).choices[0]?.message.content).toBe('You said: Hello');
  await expect(chat('no-deployment')).rejects.toThrow(/does not exist/);
  const { output_text: text } = await openai.responses.create({ model: 'our-gpt', input: 'Hello' });
  expect(text).toBe('You said: Hello');
  const unversioned = await fetch(`${simulator.url}/openai/responses`, {
    method: 'POST',
    headers: { 'api-key': TOKEN },
    body: JSON.stringify({ model: 'our-gpt', input: 'Hello' }),
  });
  expect(unversioned.status).toBe(404);
});

test("Google's own client gets embeddings on Vertex AI, by predict and by embedContent", async () => {
  await using simulator = await startSimulator({ cloud: vertex(PROJECT) });
  const token = {
    access_token: TOKEN,
    issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    token_type: 'Bearer',
    expires_in: 3600,
  };
  const tokens = createServer((request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(request.url === '/subject' ? 'a subject' : JSON.stringify(token));
  }).listen(0, '127.0.0.1');
  await once(tokens, 'listening');
  onTestFinished(() => {
    tokens.closeAllConnections();
    tokens.close();
  });
  const address = tokens.address();
  const origin = `http://127.0.0.1:${typeof address === 'object' && address?.port}`;
  const credentials = {
    type: 'external_account',
    audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    token_url: `${origin}/token`,
    credential_source: { url: `${origin}/subject` },
  };
  const { models } = new GoogleGenAI({
    vertexai: true,
    project: PROJECT.project,
    location: PROJECT.location,
    httpOptions: { baseUrl: simulator.url },
    googleAuthOptions: { credentials },
  });
  const config = { outputDimensionality: 64, taskType: 'RETRIEVAL_QUERY' };
  const { embeddings: texts } = await models.embedContent({
    model: 'text-embedding-005',
    contents: ['one', 'two'],
    config,
  });
  expect(texts?.map(({ values }) => values?.length)).toEqual([64, 64]);
  const { embeddings: later } = await models.embedContent({
    model: 'gemini-embedding-2',
    contents: 'one',
    config,
  });
  expect(later?.[0]?.values).toHaveLength(64);
  expect(simulator.requests.map(({ path }) => path.split(':')[1])).toEqual(['predict', 'embedContent']);
  await expect(
    models.embedContent({ model: 'gemini-embedding-001', contents: ['one', 'two'] }),
  ).rejects.toThrow(/not allowed/);
});
