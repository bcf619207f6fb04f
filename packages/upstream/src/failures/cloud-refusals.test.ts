import { anthropicAws, foundry } from '@gateway/simulator/clouds/anthropics-paths';
import { bedrock } from '@gateway/simulator/clouds/bedrock';
import type { Cloud } from '@gateway/simulator/clouds/cloud';
import { vertex } from '@gateway/simulator/clouds/vertex';
import type { ScriptedReply } from '@gateway/simulator/script/script-queue';
import { startSimulator } from '@gateway/simulator/start-simulator';
import { expect, onTestFinished, test } from 'vitest';
import { parseConfiguration } from '../configuration/parse-configuration.ts';
import type { Protocol } from '../protocol.ts';
import type { Attempt } from '../replies/reply.ts';
import { createUpstream } from '../upstream.ts';

const KEYS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'a-secret-access-key-of-nobody' } as const;
const aws = (secret: string = KEYS.secretAccessKey) =>
  `auth: { type: aws, accessKeyId: ${KEYS.accessKeyId}, secretAccessKey: ${secret} }`;
const GATE = { ...KEYS, region: 'eu-central-1', service: 'bedrock' } as const;
const KEY = 'a-key-of-the-resource';
const runtime = bedrock({ ...GATE, endpoint: 'runtime' });
const google = vertex({ project: 'p1', location: 'eu', acceptsToken: (token) => token === KEY });
const azure = foundry({ apiKeys: [KEY], acceptsToken: () => false, deployments: ['our-opus'] });
const CLAUDE = 'eu.anthropic.claude-opus-5';
const onVertex = (settings: string) =>
  `provider: vertex, ${settings}, apiKey: unused, headers: { authorization: "Bearer ${KEY}" }`;
const denied = (message: string): ScriptedReply => ({
  status: 403,
  json: { message },
  headers: { 'x-amzn-errortype': 'AccessDeniedException:http://internal.amazon.com/' },
});

interface Row {
  readonly cloud: Cloud;
  readonly channel: string;
  readonly model: string;
  readonly protocol?: Protocol;
  readonly reply?: ScriptedReply;
  readonly detail: RegExp;
}

const ROWS: Readonly<Record<string, Row>> = {
  'a wrong region of AWS': {
    cloud: runtime,
    channel: `provider: bedrock, region: us-east-1, ${aws()}`,
    model: CLAUDE,
    detail: /scoped to a valid region.*check the channel's region/,
  },
  'a wrong secret of AWS': {
    cloud: runtime,
    channel: `provider: bedrock, region: eu-central-1, ${aws('another-secret')}`,
    model: CLAUDE,
    detail: /InvalidSignatureException.*check the secret access key/,
  },
  'a role without the right': {
    cloud: runtime,
    channel: `provider: bedrock, region: eu-central-1, ${aws()}`,
    model: CLAUDE,
    reply: denied(
      'User: arn:aws:sts::111122223333:assumed-role/r/s is not authorized to perform: bedrock:InvokeModel on resource: x',
    ),
    detail: /AccessDeniedException.*allow that action in the role's policy/,
  },
  'no access to the model': {
    cloud: runtime,
    channel: `provider: bedrock, region: eu-central-1, ${aws()}`,
    model: CLAUDE,
    reply: denied("You don't have access to the model with the specified model ID."),
    detail: /request access to the model in the console of Bedrock/,
  },
  'an id without a geography': {
    cloud: runtime,
    channel: `provider: bedrock, region: eu-central-1, ${aws()}`,
    model: 'anthropic.claude-opus-5',
    detail: /put a geography before the model's id/,
  },
  'a wrong workspace': {
    cloud: anthropicAws({ ...GATE, service: 'aws-external-anthropic', workspaceId: 'wrkspc_1' }),
    channel: `provider: anthropic-aws, region: eu-central-1, workspaceId: wrkspc_2, ${aws()}`,
    model: 'claude-opus-5',
    detail: /check the channel's workspaceId/,
  },
  'a wrong project or location of Google': {
    cloud: google,
    channel: onVertex('project: p1, location: us'),
    model: 'claude-opus-5',
    detail: /check the channel's project and location, and give the identity the role/,
  },
  'a model that is not in the location': {
    cloud: google,
    channel: onVertex('project: p1, location: eu'),
    model: 'claude-lost',
    reply: {
      status: 404,
      json: {
        error: {
          code: 404,
          status: 'NOT_FOUND',
          message: 'Publisher Model `x` was not found or your project does not have access to it.',
        },
      },
    },
    detail: /check the model's name in the route, the channel's location/,
  },
  'a wrong deployment': {
    cloud: azure,
    channel: `provider: foundry, resource: ours, apiKey: ${KEY}`,
    model: 'lost',
    detail: /DeploymentNotFound.*check the deployment's name in the route/,
  },
  'a wrong key of Microsoft': {
    cloud: azure,
    channel: 'provider: foundry, resource: ours, apiKey: another-key',
    model: 'our-opus',
    detail: /check the channel's resource, and its apiKey or auth\.scope/,
  },
};

test.for(Object.entries(ROWS))(
  '%s: one sentence says what to do',
  async ([, { cloud, channel, model, protocol = 'messages', reply, detail }]) => {
    const simulator = await startSimulator({ cloud });
    onTestFinished(() => simulator.close());
    if (reply !== undefined) simulator.script(reply);
    const text = `channels:\n  one: { baseUrl: "${simulator.url}", ${channel} }\nmodels:\n  m: { kind: text, routes: [{ channel: one, model: "${model}", speaks: [${protocol}] }] }`;
    const attempts: Attempt[] = [];
    const upstream = createUpstream({
      configuration: parseConfiguration(text, 'gateway.yaml', {}),
      onAttempt: (attempt) => attempts.push(attempt),
    });
    onTestFinished(() => upstream.destroy());
    const resolved = upstream.resolveModel('m');
    if (resolved === null) throw new Error('no model');
    const sent = upstream.send({
      candidates: upstream.candidates({ model: resolved, protocol }),
      request: (candidate) => ({
        operation: 'messages',
        method: 'POST',
        headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
        body: JSON.stringify({
          ...(typeof candidate.channel.paths.messages === 'string' && { model }),
          ...(candidate.route.quirks.envelope && {
            anthropic_version: candidate.route.quirks.envelope.version,
          }),
          max_tokens: 5,
          messages: [{ role: 'user', content: 'Hello' }],
        }),
      }),
      dialect: 'anthropic',
      work: 'paid',
      streamed: false,
    });
    await expect(sent).rejects.toMatchObject({ code: expect.any(String) });
    expect(attempts[0]?.detail).toMatch(detail);
    expect(attempts[0]?.detail).not.toContain(KEY);
  },
);
