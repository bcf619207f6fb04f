import { startStack } from '@gateway/stack/start-stack';
import { waitFor } from '@gateway/testkit/wait-for';
import OpenAI from 'openai';
import type { Response, ResponseInput } from 'openai/resources/responses/responses';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** Conversations of ten turns, with tools and pictures, over two text services, one of which dies, and a restart of everything. */

let gateway: Gateway;
const resources = new AsyncDisposableStack();
const SERVICES = ['edge', 'text', 'admin'] as const;

beforeAll(async () => {
  gateway = resources.adopt(
    await startGateway({
      mode: 'each',
      services: [...SERVICES],
      replicas: { text: 2 },
      configuration: (origin) => `
channels:
  responses: { provider: simulator, baseUrl: "${origin}", speaks: [responses] }
  messages: { provider: simulator, baseUrl: "${origin}", speaks: [messages] }
  chat: { provider: simulator, baseUrl: "${origin}", speaks: [chat] }
models:
  responses: { kind: text, routes: [{ channel: responses }] }
  messages: { kind: text, routes: [{ channel: messages }] }
  chat: { kind: text, routes: [{ channel: chat }] }
`,
    }),
    (it) => it.close(),
  );
});
afterAll(() => resources.disposeAsync());

const MODELS = ['responses', 'messages', 'chat'] as const;
const TURNS = 10;
const TOOLS = [
  {
    type: 'function' as const,
    name: 'get_weather',
    strict: false,
    parameters: { type: 'object', properties: { city: { type: 'string' } } },
  },
];
const PICTURE = `data:image/png;base64,${'iVBORw0KGgo'.repeat(2000)}`;

/** The input of one turn: every third one has a picture, every fourth needs a tool. */
function inputOf(turn: number, before: Response | undefined): ResponseInput {
  const outputs = (before?.output ?? []).flatMap((item) =>
    item.type === 'function_call'
      ? [{ type: 'function_call_output' as const, call_id: item.call_id, output: `sunny at turn ${turn}` }]
      : [],
  );
  return [
    ...outputs,
    {
      role: 'user',
      content: [
        { type: 'input_text', text: `words of turn ${turn}` },
        ...(turn % 3 === 0
          ? [{ type: 'input_image' as const, detail: 'auto' as const, image_url: PICTURE }]
          : []),
      ],
    },
  ];
}

test('a conversation outlives a killed service and a restart of everything, whichever models continue it', async () => {
  const last = new Map<string, Response>();
  let client = gateway.openai;
  for (let turn = 0; turn < TURNS; turn += 1) {
    if (turn === 4) {
      const { ended } = gateway.stack.process('text-2');
      gateway.stack.process('text-2').kill('SIGKILL');
      await ended;
    }
    if (turn === 7) {
      const { edgeUrl, key } = await restarted();
      client = new OpenAI({ baseURL: `${edgeUrl}/v1`, apiKey: key });
    }
    for (const [index, name] of MODELS.entries()) {
      // In its middle each conversation changes its model.
      const model = turn < 5 ? name : MODELS[(index + 1) % MODELS.length];
      const before = last.get(name);
      const request = {
        model: model ?? name,
        input: inputOf(turn, before),
        tools: TOOLS,
        tool_choice: turn % 4 === 3 ? ('required' as const) : ('auto' as const),
        previous_response_id: before?.id ?? null,
      };
      const made = await waitFor(() => client.responses.create(request));
      expect(made).toMatchObject({
        status: 'completed',
        store: true,
        previous_response_id: before?.id ?? null,
      });
      last.set(name, made);
    }
  }
  // The conversation that ended on Chat Completions was sent whole.
  const bodies = gateway.simulator.requests.map(({ body }) => body.toString());
  const whole = bodies.findLast((body) => body.includes('"messages"')) ?? '';
  for (let turn = 0; turn < TURNS; turn += 1) expect(whole).toContain(`words of turn ${turn}`);
  expect(whole.match(/iVBORw0KGgo(?:iVBORw0KGgo)+/g)).toHaveLength(4);
  for (const { id } of last.values()) expect((await client.responses.retrieve(id)).id).toBe(id);
});

/** Everything is stopped and started again, with the data folder of before. */
async function restarted(): Promise<{ edgeUrl: string; key: string }> {
  await gateway.stack.stop();
  return resources.adopt(
    await startStack({
      dataDir: gateway.dataFolder,
      configurationPath: gateway.configurationPath,
      env: { SIMULATOR_URL: gateway.simulator.url },
      mode: 'each',
      services: [...SERVICES],
      replicas: { text: 2 },
    }),
    (stack) => stack.stop(),
  );
}
