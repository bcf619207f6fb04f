import {
  BedrockRuntimeClient,
  type ContentBlock,
  ConverseCommand,
  type ConverseCommandInput,
  ConverseStreamCommand,
  CountTokensCommand,
  InvokeModelCommand,
  InvokeModelWithResponseStreamCommand,
} from '@aws-sdk/client-bedrock-runtime';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../start-simulator.ts';

let simulator: Simulator;
let client: BedrockRuntimeClient;
beforeAll(async () => {
  simulator = await startSimulator();
  client = new BedrockRuntimeClient({
    region: 'eu-central-1',
    endpoint: simulator.url,
    credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'a-secret-of-nobody' },
    maxAttempts: 1,
    // The client by itself would use HTTP/2, which the simulator does not speak.
    requestHandler: new NodeHttpHandler(),
  });
});
afterAll(async () => {
  client.destroy();
  await simulator.close();
});
beforeEach(() => simulator.reset());

const NOVA = 'eu.amazon.nova-2-lite-v1:0';
const user = (...content: ContentBlock[]) => ({ role: 'user' as const, content });
const said = (text: string): ConverseCommandInput => ({ modelId: NOVA, messages: [user({ text })] });
const toolConfig = {
  tools: [
    {
      toolSpec: {
        name: 'get_weather',
        description: 'The weather in a city',
        inputSchema: {
          json: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        },
      },
    },
  ],
};

test("AWS' client reads a whole answer, its end and its cost", async () => {
  const answer = await client.send(
    new ConverseCommand({
      ...said('What is up? [[simulate cached-tokens=2 cache-write-tokens=1]]'),
      system: [{ text: 'Be brief.' }, { cachePoint: { type: 'default' } }],
      inferenceConfig: { maxTokens: 100, temperature: 1 },
    }),
  );
  expect(answer.output?.message?.content).toEqual([
    { text: expect.stringContaining('You said: What is up?') },
  ]);
  expect(answer.stopReason).toBe('end_turn');
  const { inputTokens = 0, outputTokens = 0, totalTokens } = answer.usage ?? {};
  expect(answer.usage).toMatchObject({ cacheReadInputTokens: 2, cacheWriteInputTokens: 1 });
  expect(totalTokens).toBe(inputTokens + 3 + outputTokens);
  expect(simulator.ledger()[NOVA]).toMatchObject({ inputTokens: inputTokens + 3, outputTokens });
});

test("AWS' client reads a stream with reasoning and a call, and gives both back", async () => {
  const first: ConverseCommandInput = {
    ...said('Please use tool get_weather'),
    toolConfig,
    additionalModelRequestFields: { thinking: { type: 'adaptive' } },
  };
  const { stream } = await client.send(new ConverseStreamCommand(first));
  const content: ContentBlock[] = [];
  let [thought, signature, input, id, stop, tokens] = ['', '', '', '', '', 0];
  for await (const event of stream ?? []) {
    const { reasoningContent, toolUse } = event.contentBlockDelta?.delta ?? {};
    thought += reasoningContent?.text ?? '';
    signature += reasoningContent?.signature ?? '';
    input += toolUse?.input ?? '';
    id += event.contentBlockStart?.start?.toolUse?.toolUseId ?? '';
    stop += event.messageStop?.stopReason ?? '';
    tokens += event.metadata?.usage?.totalTokens ?? 0;
  }
  expect([stop, JSON.parse(input)]).toEqual(['tool_use', { city: expect.any(String) }]);
  expect(tokens).toBeGreaterThan(0);
  content.push({ reasoningContent: { reasoningText: { text: thought, signature } } });
  content.push({ toolUse: { toolUseId: id, name: 'get_weather', input: JSON.parse(input) } });
  const results = user({ toolResult: { toolUseId: id, content: [{ text: 'sunny' }], status: 'success' } });
  const messages = [...(first.messages ?? []), { role: 'assistant' as const, content }, results];
  const answer = await client.send(new ConverseCommand({ ...first, messages }));
  expect(answer.output?.message?.content?.at(-1)).toEqual({ text: 'The tool answered: sunny' });

  const altered = { reasoningContent: { reasoningText: { text: `${thought}!`, signature } } };
  const broken = [
    messages[0],
    { role: 'assistant' as const, content: [altered, ...content.slice(1)] },
    results,
  ];
  await expect(
    client.send(new ConverseCommand({ ...first, messages: broken.flatMap((one) => one ?? []) })),
  ).rejects.toThrow('Invalid `signature`');
});

test.for([
  ['an exception', 'error-event-after=3', 'ModelStreamErrorException'],
  ['bytes that are no message', 'garbage=3', 'Error'],
] as const)("AWS' client fails at %s in the middle of a stream", async ([, fault, name]) => {
  const { stream } = await client.send(new ConverseStreamCommand(said(`Hello [[simulate ${fault}]]`)));
  const read = async () => {
    for await (const _ of stream ?? []);
  };
  await expect(read()).rejects.toMatchObject({ name });
});

test.for([
  ['status=429', 'ThrottlingException', 429],
  ['status=503', 'ServiceUnavailableException', 503],
  ['status=403', 'AccessDeniedException', 403],
  ['status=424', 'ModelErrorException', 424],
  ['context-length', 'ValidationException', 400],
] as const)("AWS' client knows the error of %s", async ([fault, name, status]) => {
  const sent = client.send(new ConverseCommand(said(`Hello [[simulate ${fault}]]`)));
  await expect(sent).rejects.toMatchObject({ name, $metadata: { httpStatusCode: status } });
});

test('tokens are counted, but not for models that are profiles only', async () => {
  const count = (modelId: string) =>
    client.send(
      new CountTokensCommand({ modelId, input: { converse: { messages: [user({ text: 'Hello you' })] } } }),
    );
  expect((await count('amazon.nova-lite-v1:0')).inputTokens).toBe(3);
  await expect(count(NOVA)).rejects.toThrow("doesn't support counting tokens");
});

const call = { toolUse: { toolUseId: 'tooluse_1', name: 'get_weather', input: {} } };
const result = { toolResult: { toolUseId: 'tooluse_1', content: [{ text: 'sunny' }] } };
const bytes = Buffer.from('%PDF-1.7');
const pdf = (name: string): ContentBlock => ({ document: { format: 'pdf', name, source: { bytes } } });
const turns = (...contents: ContentBlock[][]) => ({
  messages: contents.map((content, at) => ({
    role: at % 2 === 0 ? ('user' as const) : ('assistant' as const),
    content,
  })),
});

test.for<readonly [string, Partial<ConverseCommandInput>, string]>([
  ['two messages of one role', { messages: [user({ text: 'a' }), user({ text: 'b' })] }, 'must alternate'],
  [
    'an answer first',
    { messages: [{ role: 'assistant', content: [{ text: 'a' }] }] },
    'must start with a user',
  ],
  ['an answer last', turns([{ text: 'a' }], [{ text: 'b' }]), 'prefill'],
  ['blank text', turns([{ text: ' ' }]), 'is blank'],
  ['an empty message', turns([]), 'is empty'],
  ['calls without tools', turns([{ text: 'a' }], [call], [result]), 'toolConfig field must be defined'],
  [
    'a call without its result',
    { ...turns([{ text: 'a' }], [call], [{ text: 'b' }]), toolConfig },
    'Expected toolResult blocks',
  ],
  ['a result without its call', { ...turns([result]), toolConfig }, 'exceeds the number of toolUse'],
  [
    'an empty tool result',
    {
      ...turns([{ text: 'a' }], [call], [{ toolResult: { toolUseId: 'tooluse_1', content: [] } }]),
      toolConfig,
    },
    'is empty',
  ],
  ['documents alone', turns([pdf('a')]), 'text block must be included'],
  ['a name with a dot', turns([{ text: 'a' }, pdf('a.pdf')]), 'document file name'],
  ['a name twice', turns([{ text: 'a' }, pdf('a'), pdf('a')]), 'duplicate document names'],
  ['a high temperature', { inferenceConfig: { temperature: 1.5 } }, 'inferenceConfig.temperature'],
  [
    'a choice of an unknown tool',
    { toolConfig: { ...toolConfig, toolChoice: { tool: { name: 'x' } } } },
    'not among the tools',
  ],
  [
    'a tool name with a dot',
    { toolConfig: { tools: [{ toolSpec: { name: 'a.b', inputSchema: { json: { type: 'object' } } } }] } },
    'regular expression',
  ],
  [
    'five cache points',
    { system: Array.from({ length: 5 }, () => ({ cachePoint: { type: 'default' as const } })) },
    'maximum of 4',
  ],
  [
    'hidden reasoning of another',
    turns([{ text: 'a' }], [{ reasoningContent: { redactedContent: bytes } }], [{ text: 'b' }]),
    'redacted_thinking',
  ],
  ['an unknown model', { modelId: 'no-such-model' }, 'model identifier is invalid'],
])('%s is refused in the words of Bedrock', async ([, changes, words]) => {
  const sent = client.send(new ConverseCommand({ ...said('Hello'), ...changes }));
  await expect(sent).rejects.toMatchObject({
    name: 'ValidationException',
    message: expect.stringContaining(words),
  });
});

const ARN = 'arn:aws:bedrock:eu-central-1:111122223333:application-inference-profile/abc';
const invoked = (modelId: string, more: object = {}) => ({
  modelId,
  contentType: 'application/json',
  accept: 'application/json',
  body: JSON.stringify({
    anthropic_version: 'bedrock-2023-05-31',
    max_tokens: 50,
    messages: [{ role: 'user', content: 'Hello' }],
    ...more,
  }),
});

test("AWS' client gets Anthropic's message by InvokeModel, and its events in chunks", async () => {
  const { body } = await client.send(new InvokeModelCommand(invoked(ARN)));
  expect(JSON.parse(body.transformToString())).toMatchObject({
    model: 'claude-opus-5',
    content: [{ type: 'text', text: 'You said: Hello' }],
  });
  const answer = await client.send(new InvokeModelWithResponseStreamCommand(invoked(ARN)));
  const events: { type: string }[] = [];
  for await (const { chunk } of answer.body ?? [])
    events.push(JSON.parse(Buffer.from(chunk?.bytes ?? []).toString()));
  expect(events[0]?.type).toBe('message_start');
  expect(events.at(-1)).toMatchObject({
    type: 'message_stop',
    'amazon-bedrock-invocationMetrics': { outputTokenCount: expect.any(Number) },
  });
});

test.for<readonly [string, string, object, string]>([
  ['a model in the body', ARN, { model: 'claude-opus-5' }, 'model: Extra inputs'],
  ['a stream in the body', ARN, { stream: true }, 'stream: Extra inputs'],
  ['no version', ARN, { anthropic_version: undefined }, 'anthropic_version: Field required'],
  ["Anthropic's version", ARN, { anthropic_version: '2023-06-01' }, 'anthropic_version: Input should be'],
  ['an unknown beta', ARN, { anthropic_beta: ['advanced-tool-use-2025-11-20'] }, 'invalid beta flag'],
  [
    "an older model's beta",
    'eu.anthropic.claude-opus-4-7',
    { anthropic_beta: ['context-1m-2025-08-07'] },
    'invalid beta flag',
  ],
  ['a service tier', ARN, { service_tier: 'auto' }, 'service_tier: Extra inputs'],
])('InvokeModel refuses %s', async ([, modelId, more, words]) => {
  const sent = client.send(new InvokeModelCommand(invoked(modelId, more)));
  await expect(sent).rejects.toMatchObject({
    name: 'ValidationException',
    message: expect.stringContaining(words),
  });
});
