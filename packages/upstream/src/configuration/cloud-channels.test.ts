import { expect, test } from 'vitest';
import { requestPath } from '../requests/operation-path.ts';
import { ConfigurationError } from './mistakes/configuration-error.ts';
import { parseConfiguration } from './parse-configuration.ts';

const env = { KEY: 'a-key-of-a-cloud' };

const parse = (channel: string, routes = '{ channel: one, model: m, speaks: [messages] }') =>
  parseConfiguration(
    `channels:\n  one: ${channel}\nmodels:\n  claude: { kind: text, routes: [${routes}] }\n`,
    'gateway.yaml',
    env,
  );

const channelOf = (channel: string, routes?: string) => {
  const one = parse(channel, routes).channels.get('one');
  if (one === undefined) throw new Error('no channel');
  return one;
};

const KEYED = `apiKey: "\${KEY}"`;
const BEDROCK = `{ provider: bedrock, region: eu-central-1, auth: { type: aws } }`;
const VERTEX = '{ provider: vertex, project: p1, location: europe-west1, auth: { type: google } }';

test.for([
  [
    'bedrock',
    'region: eu-central-1',
    'https://bedrock-runtime.eu-central-1.amazonaws.com/anthropic/v1/messages',
  ],
  [
    'bedrock',
    'region: cn-north-1',
    'https://bedrock-runtime.cn-north-1.amazonaws.com.cn/anthropic/v1/messages',
  ],
  [
    'bedrock',
    'region: us-isob-east-1',
    'https://bedrock-runtime.us-isob-east-1.sc2s.sgov.gov/anthropic/v1/messages',
  ],
  [
    'bedrock',
    'region: us-gov-west-1',
    'https://bedrock-runtime.us-gov-west-1.amazonaws.com/anthropic/v1/messages',
  ],
  [
    'bedrock',
    'region: us-east-1, endpoint: mantle',
    'https://bedrock-mantle.us-east-1.api.aws/anthropic/v1/messages',
  ],
  [
    'bedrock',
    'region: us-east-1, baseUrl: "https://vpce-1.bedrock-runtime.us-east-1.vpce.amazonaws.com"',
    'https://vpce-1.bedrock-runtime.us-east-1.vpce.amazonaws.com/anthropic/v1/messages',
  ],
  [
    'anthropic-aws',
    'region: us-west-2, workspaceId: wrkspc_1',
    'https://aws-external-anthropic.us-west-2.api.aws/v1/messages',
  ],
  [
    'vertex',
    'project: p1, location: global',
    'https://aiplatform.googleapis.com/v1/projects/p1/locations/global/publishers/anthropic/models/m:rawPredict',
  ],
  [
    'vertex',
    'project: p1, location: eu',
    'https://aiplatform.eu.rep.googleapis.com/v1/projects/p1/locations/eu/publishers/anthropic/models/m:rawPredict',
  ],
  [
    'vertex',
    'project: p1, location: us',
    'https://aiplatform.us.rep.googleapis.com/v1/projects/p1/locations/us/publishers/anthropic/models/m:rawPredict',
  ],
  [
    'vertex',
    'project: p1, location: europe-west1',
    'https://europe-west1-aiplatform.googleapis.com/v1/projects/p1/locations/europe-west1/publishers/anthropic/models/m:rawPredict',
  ],
  ['foundry', 'resource: ours', 'https://ours.services.ai.azure.com/anthropic/v1/messages'],
  [
    'foundry',
    'baseUrl: "https://ours.services.ai.azure.us"',
    'https://ours.services.ai.azure.us/anthropic/v1/messages',
  ],
  ['azure-openai', 'resource: ours', 'https://ours.openai.azure.com/anthropic/v1/messages'],
  [
    'azure-openai',
    'baseUrl: "https://ours.openai.azure.com/openai/v1/"',
    'https://ours.openai.azure.com/anthropic/v1/messages',
  ],
] as const)('messages of %s with %s', ([provider, settings, address]) => {
  const channel = channelOf(`{ provider: ${provider}, ${settings}, ${KEYED} }`);
  expect(channel.origin + requestPath({ channel, model: 'm' }, { operation: 'messages' }, false)).toBe(
    address,
  );
});

test.for([
  ['bedrock', 'region: us-east-1, endpoint: invoke', 'messages', '/model/m/invoke'],
  ['bedrock', 'region: us-east-1', 'responses', '/openai/v1/responses'],
  ['bedrock', 'region: us-east-1', 'embeddings', '/model/m/invoke'],
  ['bedrock', 'region: us-east-1', 'rerank', '/model/m/invoke'],
  [
    'vertex',
    'project: p1, location: eu',
    'responses',
    '/v1/projects/p1/locations/eu/publishers/openai/v1/responses',
  ],
  [
    'vertex',
    'project: p1, location: eu',
    'chat',
    '/v1/projects/p1/locations/eu/endpoints/openapi/chat/completions',
  ],
  [
    'vertex',
    'project: p1, location: eu',
    'messages.count_tokens',
    '/v1/projects/p1/locations/eu/publishers/anthropic/models/count-tokens:rawPredict',
  ],
  ['foundry', 'resource: ours', 'responses', '/openai/v1/responses'],
  ['foundry', 'resource: ours, project: team', 'chat', '/api/projects/team/openai/v1/chat/completions'],
  ['foundry', 'resource: ours, project: team', 'messages', '/anthropic/v1/messages'],
  ['azure-openai', 'resource: ours', 'responses', '/openai/v1/responses'],
] as const)('%s with %s has %s', ([provider, settings, operation, path]) => {
  const channel = channelOf(`{ provider: ${provider}, ${settings}, ${KEYED} }`);
  expect(requestPath({ channel, model: 'm' }, { operation }, false)).toBe(path);
});

test('a stream of Claude on Vertex AI has its own path', () => {
  const channel = channelOf(VERTEX);
  const path = requestPath({ channel, model: 'claude-sonnet-4-5@20250929' }, { operation: 'messages' }, true);
  expect(path).toBe(
    '/v1/projects/p1/locations/europe-west1/publishers/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict',
  );
});

test('requests are signed for the region and the service of their endpoint', () => {
  const signedFor = (settings: string) => {
    const { auth } = channelOf(`{ provider: bedrock, region: us-east-1, ${settings}auth: { type: aws } }`)
      .accounts[0].secrets;
    return auth?.type === 'aws' ? [auth.region, auth.service] : null;
  };
  expect(signedFor('')).toEqual(['us-east-1', 'bedrock']);
  expect(signedFor('endpoint: mantle, ')).toEqual(['us-east-1', 'bedrock-mantle']);
});

test('by InvokeModel every id is one of Claude, an ARN too', () => {
  const set = '{ provider: bedrock, region: eu-central-1, endpoint: invoke, auth: { type: aws } }';
  for (const id of [ARN, 'eu.anthropic.claude-opus-5', 'mine']) {
    const [route] = parse(set, `{ channel: one, model: "${id}" }`).models[0]?.routes ?? [];
    expect(route?.speaks).toEqual(['messages']);
    expect(route?.quirks.envelope).toEqual({ version: 'bedrock-2023-05-31', betas: 'body', stream: 'path' });
  }
});

const headersOf = (channel: string) => Object.fromEntries(channelOf(channel).accounts[0].secrets.headers);

test("a workspace and a guardrail are sent as their cloud's headers", () => {
  expect(
    headersOf(`{ provider: anthropic-aws, region: us-west-2, workspaceId: wrkspc_1, ${KEYED} }`),
  ).toMatchObject({ 'x-api-key': env.KEY, 'anthropic-workspace-id': 'wrkspc_1' });
  const guarded = `{ provider: bedrock, region: us-east-1, ${KEYED}, guardrail: { id: gr1, version: "2" } }`;
  expect(headersOf(guarded)).toEqual({
    'accept-encoding': 'identity',
    authorization: `Bearer ${env.KEY}`,
    'x-amzn-bedrock-guardrailidentifier': 'gr1',
    'x-amzn-bedrock-guardrailversion': '2',
  });
});

test.for([
  ['anthropic.claude-opus-5', ['messages']],
  ['eu.anthropic.claude-opus-5', ['messages']],
  ['us-gov.anthropic.claude-opus-5', ['messages']],
  ['global.anthropic.claude-opus-5', ['messages']],
  ['openai.gpt-5.2', ['responses', 'chat']],
  ['us.xai.grok-4', ['responses', 'chat']],
  ['qwen.qwen3-coder', ['chat']],
] as const)('on Bedrock the vendor in %s says what it speaks', ([id, speaks]) => {
  const [model] = parse(BEDROCK, `{ channel: one, model: "${id}" }`).models;
  expect(model?.routes[0]?.speaks).toEqual(speaks);
});

test('on Vertex AI Claude speaks messages, and what is named with its maker chat', () => {
  const speaksOf = (id: string) =>
    parse(VERTEX, `{ channel: one, model: "${id}" }`).models[0]?.routes[0]?.speaks;
  expect(speaksOf('claude-opus-5')).toEqual(['messages']);
  expect(speaksOf('google/gemini-3.1-pro')).toEqual(['chat']);
});

test("a route's and a channel's `speaks` count more than what an id says", () => {
  const routed = parse(BEDROCK, '{ channel: one, model: openai.gpt-oss-120b, speaks: [chat] }').models;
  expect(routed[0]?.routes[0]?.speaks).toEqual(['chat']);
  const set = `{ provider: bedrock, region: eu-central-1, speaks: [chat], auth: { type: aws } }`;
  expect(parse(set, '{ channel: one, model: openai.gpt-5.2 }').models[0]?.routes[0]?.speaks).toEqual([
    'chat',
  ]);
});

const ARN = 'arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/abc';

test.for([
  [`{ provider: bedrock, ${KEYED} }`, null, 'channels.one.region', 'the region, such as eu-central-1'],
  [
    `{ provider: bedrock, region: europe, ${KEYED} }`,
    null,
    'channels.one.region',
    'a region, such as eu-central-1',
  ],
  [
    `{ provider: bedrock, region: us-east-1, location: eu, ${KEYED} }`,
    null,
    'channels.one.location',
    'of such settings region, endpoint, guardrail for a channel of bedrock',
  ],
  [
    `{ provider: bedrock, region: us-east-1, endpoint: mantle, guardrail: { id: a, version: "1" }, ${KEYED} }`,
    null,
    'channels.one.guardrail',
    'of such settings region, endpoint for a channel of bedrock with the endpoint mantle',
  ],
  [
    `{ provider: bedrock, region: us-east-1, guardrail: { id: a, version: "one" }, ${KEYED} }`,
    null,
    'channels.one.guardrail.version',
    'a version such as "1", or DRAFT',
  ],
  [
    `{ provider: openai, region: us-east-1, ${KEYED} }`,
    '{ channel: one }',
    'channels.one.region',
    'of such settings none for a channel of openai',
  ],
  [
    `{ provider: bedrock, region: us-east-1, auth: { type: google } }`,
    null,
    'channels.one.auth.type',
    'aws, whose credentials a channel of bedrock takes, or oauth',
  ],
  [
    `{ provider: vertex, project: p1, auth: { type: google } }`,
    null,
    'channels.one.location',
    'global, us, eu or a region such as europe-west1',
  ],
  [
    `{ provider: vertex, location: eu, auth: { type: google } }`,
    null,
    'channels.one.project',
    "the project's id",
  ],
  [
    `{ provider: anthropic-aws, region: us-west-2, ${KEYED} }`,
    null,
    'channels.one.workspaceId',
    "the workspace's id",
  ],
  [`{ provider: foundry, ${KEYED} }`, null, 'channels.one.resource', "the resource's name, or a baseUrl"],
  [
    `{ provider: azure-openai, ${KEYED} }`,
    null,
    'channels.one.resource',
    "the resource's name, or a baseUrl",
  ],
  [
    `{ provider: azure-openai, resource: ours.openai.azure.com, ${KEYED} }`,
    null,
    'channels.one.resource',
    "a resource's name, without what follows its first dot",
  ],
  [
    `{ provider: azure-openai, resource: ours, speaks: [messages, gemini], ${KEYED} }`,
    null,
    'channels.one.speaks[1]',
    'one of responses, messages, chat, images, speech, transcriptions, embeddings, completions, translations, realtime, which is what a provider of the kind azure-openai can speak',
  ],
  [
    BEDROCK,
    `{ channel: one, model: "${ARN}" }`,
    'models.claude.routes[0].speaks',
    'what this model speaks, of responses, messages, chat, converse: its id does not say it',
  ],
  [
    BEDROCK,
    '{ channel: one }',
    'models.claude.routes[0].speaks',
    'what this model speaks, of responses, messages, chat, converse: its id does not say it',
  ],
  [
    BEDROCK,
    '{ channel: one, model: anthropic.c, speaks: [speech] }',
    'models.claude.routes[0].speaks[0]',
    'one of responses, messages, chat, converse, which its channel can speak',
  ],
] as const)('%s %s: the mistake is at %s', ([channel, routes, path, expected]) => {
  try {
    parse(channel, routes ?? undefined);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    expect(error.mistakes.map((one) => [one.path, one.expected])).toEqual([[path, expected]]);
    return;
  }
  throw new Error('no mistake was found');
});

const quirksOnBedrock = (route: string) => {
  const [one] = parse(BEDROCK, `{ channel: one, ${route} }`).models.flatMap(({ routes }) => routes);
  return one?.quirks;
};

test.for([
  [
    'model: eu.amazon.nova-2-lite-v1:0',
    { reasoningRequest: 'reasoningConfig', cachePoints: ['system', 'messages'] },
  ],
  [
    'model: us.meta.llama4-maverick-17b-instruct-v1:0',
    { streamedTools: false, cachePoints: [], demandedCalls: false },
  ],
  [
    'model: eu.anthropic.claude-opus-5, speaks: [converse]',
    { reasoningVendor: 'anthropic', structuredOutput: 'none' },
  ],
  // Its own protocol has nothing of it, and Bedrock refuses structured output there too.
  ['model: eu.anthropic.claude-opus-5', { reasoningRequest: 'none', structuredOutput: 'none' }],
  [
    'model: "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/a", speaks: [converse]',
    { cachePoints: ['system', 'tools', 'messages'], strictTools: false },
  ],
  [
    'model: eu.amazon.nova-2-lite-v1:0, quirks: { reasoningRequest: none, cachePoints: [] }',
    { reasoningRequest: 'none', cachePoints: [], topKMember: 'inferenceConfig.topK' },
  ],
] as const)(
  'what a model takes by Converse is known by its vendor, and its route can change it: %s',
  ([route, quirks]) => {
    expect(quirksOnBedrock(route)).toMatchObject(quirks);
  },
);

test('a model of Amazon speaks Converse by itself, at paths with its id', () => {
  const [route] =
    parse(BEDROCK, '{ channel: one, model: eu.amazon.nova-2-lite-v1:0 }').models[0]?.routes ?? [];
  expect(route?.speaks).toEqual(['converse']);
  const at = (streamed: boolean) =>
    requestPath(
      { channel: channelOf(BEDROCK), model: 'eu.amazon.nova-2-lite-v1:0' },
      { operation: 'converse' },
      streamed,
    );
  expect(at(false)).toBe('/model/eu.amazon.nova-2-lite-v1%3A0/converse');
  expect(at(true)).toBe('/model/eu.amazon.nova-2-lite-v1%3A0/converse-stream');
});
