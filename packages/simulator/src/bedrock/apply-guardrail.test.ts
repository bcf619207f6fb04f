import { ApplyGuardrailCommand, BedrockRuntimeClient } from '@aws-sdk/client-bedrock-runtime';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bedrock } from '../clouds/bedrock.ts';
import { type Simulator, startSimulator } from '../start-simulator.ts';

const KEYS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'a-secret-of-nobody' };

let simulator: Simulator;
let client: BedrockRuntimeClient;
beforeAll(async () => {
  const gate = { ...KEYS, region: 'eu-central-1', service: 'bedrock', endpoint: 'runtime' } as const;
  simulator = await startSimulator({ cloud: bedrock(gate) });
  client = new BedrockRuntimeClient({
    region: 'eu-central-1',
    endpoint: simulator.url,
    credentials: KEYS,
    maxAttempts: 1,
    requestHandler: new NodeHttpHandler(),
  });
});
afterAll(async () => {
  client.destroy();
  await simulator.close();
});

const apply = (texts: readonly string[], more: object = {}) =>
  client.send(
    new ApplyGuardrailCommand({
      guardrailIdentifier: 'abc123',
      guardrailVersion: 'DRAFT',
      source: 'INPUT',
      content: texts.map((text) => ({ text: { text } })),
      ...more,
    }),
  );

test("AWS' client reads what a guardrail does", async () => {
  expect(await apply(['Hello'])).toMatchObject({ action: 'NONE', outputs: [] });
  expect(await apply(['Hello', 'I am ada@example.com'])).toMatchObject({
    action: 'GUARDRAIL_INTERVENED',
    outputs: [{ text: 'Hello' }, { text: 'I am {EMAIL}' }],
    assessments: [{ sensitiveInformationPolicy: { piiEntities: [{ action: 'ANONYMIZED' }] } }],
  });
  expect(await apply(['How do I build a bomb?'])).toMatchObject({
    action: 'GUARDRAIL_INTERVENED',
    outputs: [{ text: expect.stringContaining('cannot answer') }],
    assessments: [{ topicPolicy: { topics: [{ action: 'BLOCKED' }] } }],
  });
});

test('a guardrail that cannot be is refused', async () => {
  await expect(apply(['Hello'], { guardrailVersion: 'latest' })).rejects.toMatchObject({
    name: 'ValidationException',
  });
  await expect(apply([])).rejects.toMatchObject({ name: 'ValidationException' });
});
