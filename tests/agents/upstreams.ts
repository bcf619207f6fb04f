import { anthropicAws, foundry } from '@gateway/simulator/clouds/anthropics-paths';
import { bedrock } from '@gateway/simulator/clouds/bedrock';
import type { Cloud } from '@gateway/simulator/clouds/cloud';
import { vertex } from '@gateway/simulator/clouds/vertex';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import type { Protocol } from './protocols.ts';

const AWS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'a-secret-access-key-of-nobody' } as const;
const KEY = 'a-key-of-the-cloud';
const REGION = 'eu-central-1';

/** Where an agent's task is done: a model of one provider, reached by one protocol. */
export interface Upstream {
  /** Of its channel and of its model. */
  readonly name: string;
  readonly protocol: Protocol;
  /** The settings of its channel beside its address, and of the address what comes after the origin. */
  readonly channel: string;
  readonly basePath?: string;
  /** The provider's name of the model, where the route has to say it; and what else the route says. */
  readonly model?: string;
  /** The path of a request for an answer. */
  readonly path: RegExp;
  /** What stands in front of the model. */
  readonly cloud?: Cloud;
  /** Agents that do not have their task done here unless all of it is wanted: it is the same for them as another one. */
  readonly longOnly?: readonly string[];
}

const AUTH = `auth: { type: aws, accessKeyId: ${AWS.accessKeyId}, secretAccessKey: ${AWS.secretAccessKey} }`;
const runtime = bedrock({ ...AWS, region: REGION, service: 'bedrock', endpoint: 'runtime' });
const mantle = bedrock({ ...AWS, region: REGION, service: 'bedrock-mantle', endpoint: 'mantle' });
const platform = anthropicAws({
  ...AWS,
  region: REGION,
  service: 'aws-external-anthropic',
  workspaceId: 'wrkspc_1',
});
const google = vertex({ project: 'p1', location: 'eu', acceptsToken: (token) => token === KEY });
const microsoft = foundry({
  apiKeys: [KEY],
  acceptsToken: () => false,
  deployments: ['our-opus', 'our-gpt'],
});

const RUNTIME = `provider: bedrock, region: ${REGION}, ${AUTH}`;
const MANTLE = `${RUNTIME}, endpoint: mantle`;
const VERTEX = `provider: vertex, project: p1, location: eu, apiKey: unused, headers: { authorization: "Bearer ${KEY}" }`;

const [CODEX, CODEX_BY_SOCKET, CLAUDE, GEMINI] = [
  'Codex CLI',
  'Codex CLI with a WebSocket',
  'Claude Code',
  'Gemini CLI',
];

/** The three protocols that callers speak themselves; then what only channels speak, and each cloud. */
export const UPSTREAMS: readonly Upstream[] = [
  {
    name: 'responses',
    protocol: 'responses',
    channel: 'provider: simulator, speaks: [responses]',
    path: /^\/v1\/responses$/,
  },
  {
    name: 'messages',
    protocol: 'messages',
    channel: 'provider: simulator, speaks: [messages]',
    path: /^\/v1\/messages$/,
  },
  {
    name: 'chat',
    protocol: 'chat',
    channel: 'provider: simulator, speaks: [chat]',
    path: /^\/v1\/chat\/completions$/,
    longOnly: [GEMINI],
  },
  {
    name: 'gemini',
    protocol: 'gemini',
    channel: `provider: gemini, apiKey: ${KEY}`,
    basePath: '/v1beta',
    model: 'gemini-3.6-flash',
    path: /:streamGenerateContent$/,
    longOnly: [CODEX_BY_SOCKET],
  },
  {
    name: 'converse',
    protocol: 'converse',
    channel: RUNTIME,
    model: 'eu.amazon.nova-2-lite-v1:0',
    path: /\/converse-stream$/,
    cloud: runtime,
    longOnly: [CODEX_BY_SOCKET, CLAUDE, GEMINI],
  },
  {
    name: 'bedrock',
    protocol: 'messages',
    channel: RUNTIME,
    model: 'eu.anthropic.claude-opus-5',
    path: /^\/anthropic\/v1\/messages$/,
    cloud: runtime,
    longOnly: [CODEX, CODEX_BY_SOCKET, GEMINI],
  },
  {
    name: 'bedrock-mantle',
    protocol: 'messages',
    channel: MANTLE,
    model: 'anthropic.claude-opus-5',
    path: /^\/anthropic\/v1\/messages$/,
    cloud: mantle,
    longOnly: [CODEX, CODEX_BY_SOCKET, CLAUDE, GEMINI],
  },
  {
    name: 'anthropic-aws',
    protocol: 'messages',
    channel: `provider: anthropic-aws, region: ${REGION}, workspaceId: wrkspc_1, ${AUTH}`,
    model: 'claude-opus-5',
    path: /^\/v1\/messages$/,
    cloud: platform,
    longOnly: [CODEX, CODEX_BY_SOCKET, CLAUDE, GEMINI],
  },
  {
    name: 'vertex',
    protocol: 'messages',
    channel: VERTEX,
    model: 'claude-opus-4-5@20251101',
    path: /:streamRawPredict$/,
    cloud: google,
    longOnly: [CODEX, CODEX_BY_SOCKET, GEMINI],
  },
  {
    name: 'foundry-claude',
    protocol: 'messages',
    channel: `provider: foundry, resource: ours, speaks: [messages], apiKey: ${KEY}`,
    model: 'our-opus',
    path: /^\/anthropic\/v1\/messages$/,
    cloud: microsoft,
    longOnly: [CODEX, CODEX_BY_SOCKET, CLAUDE, GEMINI],
  },
  {
    name: 'bedrock-gpt',
    protocol: 'responses',
    channel: RUNTIME,
    model: 'openai.gpt-5.2',
    path: /^\/openai\/v1\/responses$/,
    cloud: runtime,
    longOnly: [CODEX, CODEX_BY_SOCKET, CLAUDE, GEMINI],
  },
  {
    name: 'bedrock-mantle-gpt',
    protocol: 'responses',
    channel: MANTLE,
    model: 'openai.gpt-5.2',
    path: /^\/openai\/v1\/responses$/,
    cloud: mantle,
    longOnly: [CODEX, CODEX_BY_SOCKET, CLAUDE, GEMINI],
  },
  {
    name: 'foundry-gpt',
    protocol: 'responses',
    channel: `provider: foundry, resource: ours, apiKey: ${KEY}`,
    model: 'our-gpt',
    path: /^\/openai\/v1\/responses$/,
    cloud: microsoft,
    longOnly: [CODEX, CODEX_BY_SOCKET, CLAUDE, GEMINI],
  },
  {
    name: 'azure-openai',
    protocol: 'responses',
    channel: `provider: azure-openai, apiKey: ${KEY}`,
    basePath: '/openai/v1',
    model: 'our-gpt',
    path: /^\/openai\/v1\/responses$/,
    cloud: microsoft,
    longOnly: [CODEX_BY_SOCKET, CLAUDE, GEMINI],
  },
];

/** A simulator for each upstream, which asks for all that the provider asks for. */
export async function startUpstreams(): Promise<ReadonlyMap<Upstream, Simulator>> {
  const started = UPSTREAMS.map(async (upstream) => {
    const { cloud } = upstream;
    return [upstream, await startSimulator(cloud ? { cloud } : {})] as const;
  });
  return new Map(await Promise.all(started));
}

/** A channel for each upstream, with a model that every agent may use. */
export const configuration = (simulators: ReadonlyMap<Upstream, Simulator>): string => `
channels:
${[...simulators]
  .map(
    ([{ name, channel, basePath = '' }, { url }]) =>
      `  ${name}: { ${channel}, baseUrl: "${url}${basePath}" }`,
  )
  .join('\n')}
models:
${UPSTREAMS.map(
  ({ name, model }) => `  agent-over-${name}:
    kind: text
    routes: [{ channel: ${name}${model === undefined ? '' : `, model: "${model}"`} }]
    builtInTools: []
    dropUnavailableTools: true`,
).join('\n')}
`;
