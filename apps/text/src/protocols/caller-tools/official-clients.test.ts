import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { edgeFetch } from '../../testing/clients/text-client.ts';
import { publishedSchema } from '../../testing/published-schemas.ts';
import type { Stack } from '../../testing/start-stack.ts';
import { startPairs } from '../../testing/text-pairs.ts';

/** Tools that a client's program runs, used by the official clients with models of other vendors: a call, and what follows its result. */

let stack: Stack;
beforeAll(async () => {
  stack = await startPairs();
});
afterAll(() => stack[Symbol.asyncDispose]());
beforeEach(() => stack.first.reset());

type Target = 'responses' | 'messages' | 'chat';
interface Call {
  readonly name: string;
  readonly input: object;
}

const callBy = (target: Target, { name, input }: Call): object =>
  ({
    responses: {
      id: 'resp_1',
      object: 'response',
      status: 'completed',
      output: [{ type: 'function_call', id: 'fc_1', call_id: 'c1', name, arguments: JSON.stringify(input) }],
    },
    messages: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      content: [{ type: 'tool_use', id: 'c1', name, input }],
      stop_reason: 'tool_use',
      usage: { input_tokens: 9, output_tokens: 9 },
    },
    chat: {
      id: 'chat_1',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: null,
            tool_calls: [
              { id: 'c1', type: 'function', function: { name, arguments: JSON.stringify(input) } },
            ],
          },
          finish_reason: 'tool_calls',
        },
      ],
    },
  })[target];

const lastRequest = (): string => String(stack.first.requests.at(-1)?.body);
const both = [false, true] as const;

const RESPONSES_TOOLS: readonly {
  readonly tool: OpenAI.Responses.Tool;
  readonly call: Call;
  readonly output: (callId: string) => OpenAI.Responses.ResponseInputItem;
}[] = [
  {
    tool: { type: 'apply_patch' },
    call: { name: 'apply_patch', input: { type: 'update_file', path: 'a.ts', diff: '@@\n-old\n+new' } },
    output: (call_id) => ({
      type: 'apply_patch_call_output',
      call_id,
      status: 'completed',
      output: 'patched',
    }),
  },
  {
    tool: { type: 'shell', environment: { type: 'local' } },
    call: { name: 'shell', input: { commands: ['ls'] } },
    output: (call_id) => ({
      type: 'shell_call_output',
      call_id,
      output: [{ stdout: 'patched', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
    }),
  },
  {
    tool: { type: 'computer' },
    call: { name: 'computer', input: { actions: [{ type: 'screenshot' }] } },
    output: (call_id) => ({
      type: 'computer_call_output',
      call_id,
      output: { type: 'computer_screenshot', image_url: 'data:image/png;base64,iVBORw0KGgo=' },
    }),
  },
];

test.for(
  (['messages', 'chat'] as const).flatMap((target) =>
    RESPONSES_TOOLS.flatMap((row) => both.map((stream) => ({ ...row, target, stream, type: row.tool.type }))),
  ),
)(
  'openai over $target: $type, its call and its result (streamed: $stream)',
  async ({ target, tool, call, output, stream }) => {
    const client = new OpenAI({
      baseURL: `${stack.text.url}/v1`,
      apiKey: 'k',
      maxRetries: 0,
      fetch: edgeFetch(stack.text),
    });
    const model = `to-${target}`;
    const create = (body: OpenAI.Responses.ResponseCreateParamsNonStreaming) =>
      stream
        ? client.responses.stream({ ...body, stream: true }).finalResponse()
        : client.responses.create(body);
    stack.first.script({ json: callBy(target, call) });
    const asked = await create({ model, input: 'Go on.', tools: [tool] });
    const item = asked.output.find(({ type }) => type === `${tool.type}_call`);
    if (item === undefined || !('call_id' in item)) throw new Error(JSON.stringify(asked.output));
    const { error } = publishedSchema('openai-schemas', 'OutputItem').safeParse(item);
    expect(error).toBeUndefined();
    const result = output(String(item.call_id));
    const answer = await create({ model, previous_response_id: asked.id, input: [result], tools: [tool] });
    expect(answer.output_text).not.toBe('');
    expect(lastRequest()).toContain(tool.type === 'computer' ? 'iVBORw0KGgo=' : 'patched');
    expect(lastRequest()).toContain(call.name);
    const { data } = await client.responses.inputItems.list(answer.id);
    expect(data.map(({ type }) => type)).toEqual([result.type]);
    expect(publishedSchema('openai-schemas', 'ItemResource').safeParse(data[0]).error).toBeUndefined();
  },
);

const MESSAGES_TOOLS: readonly { readonly tool: Anthropic.ToolUnion; readonly call: Call }[] = [
  { tool: { type: 'bash_20250124', name: 'bash' }, call: { name: 'bash', input: { command: 'ls' } } },
  {
    tool: { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool' },
    call: { name: 'str_replace_based_edit_tool', input: { command: 'view', path: '/a' } },
  },
  {
    tool: { type: 'memory_20250818', name: 'memory' },
    call: { name: 'memory', input: { command: 'view', path: '/memories' } },
  },
  { tool: { type: 'computer_toolset_20260801' }, call: { name: 'computer__screenshot', input: {} } },
];

test.for(
  (['responses', 'chat'] as const).flatMap((target) =>
    MESSAGES_TOOLS.flatMap((row) => both.map((stream) => ({ ...row, target, stream, type: row.tool.type }))),
  ),
)(
  'anthropic over $target: $type, its call and its result (streamed: $stream)',
  async ({ target, tool, call, stream }) => {
    const client = new Anthropic({
      baseURL: stack.text.url,
      apiKey: 'k',
      maxRetries: 0,
      fetch: edgeFetch(stack.text),
    });
    const create = (messages: Anthropic.MessageParam[]): Promise<Anthropic.Message> => {
      const body = { model: `to-${target}`, max_tokens: 1000, tools: [tool], messages };
      return stream ? client.messages.stream(body).finalMessage() : client.messages.create(body);
    };
    const question: Anthropic.MessageParam = { role: 'user', content: 'Go on.' };
    stack.first.script({ json: callBy(target, call) });
    const asked = await create([question]);
    const use = asked.content.find((block) => block.type === 'tool_use');
    if (use === undefined) throw new Error(JSON.stringify(asked));
    const toolset = call.name.split('__').length > 1 ? { toolset_name: 'computer' as const } : {};
    expect(use).toMatchObject({ name: call.name.split('__').at(-1), input: call.input, ...toolset });
    expect(asked.stop_reason).toBe('tool_use');
    const answer = await create([
      question,
      { role: 'assistant', content: asked.content },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: use.id, content: 'done', ...toolset }] },
    ]);
    expect(answer.stop_reason).toBe('end_turn');
    expect(lastRequest()).toContain('done');
    expect(lastRequest()).toContain(call.name);
  },
);
