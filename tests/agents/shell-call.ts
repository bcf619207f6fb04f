import { eventOf } from '@gateway/simulator/bedrock/event-message';
import { callSignature } from '@gateway/simulator/gemini/signatures';
import type { ScriptedReply } from '@gateway/simulator/script/script-queue';
import { DEFAULT_SIGNATURE_SECRET } from '@gateway/simulator/start-simulator';
import type { Protocol } from './protocols.ts';

const frame = (data: { readonly type?: string; readonly [member: string]: unknown }): string =>
  `${data.type === undefined ? '' : `event: ${data.type}\n`}data: ${JSON.stringify(data)}\n\n`;

const USAGE = { input_tokens: 100, output_tokens: 20 };

interface ShellCall {
  readonly tool: string;
  readonly input: object;
}

const overChat = ({ tool, input }: ShellCall): string => {
  const chunk = (delta: object, finish_reason: string | null = null) =>
    frame({
      id: 'chatcmpl_1',
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, finish_reason }],
    });
  const call = { index: 0, id: 'call_shell', type: 'function' };
  const json = JSON.stringify(input);
  return [
    chunk({ role: 'assistant', content: '' }),
    chunk({ tool_calls: [{ ...call, function: { name: tool, arguments: json.slice(0, 5) } }] }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: json.slice(5) } }] }),
    chunk({}, 'tool_calls'),
    'data: [DONE]\n\n',
  ].join('');
};

const overMessages = ({ tool, input }: ShellCall): string => {
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: USAGE,
  };
  const content_block = { type: 'tool_use', id: 'toolu_shell', name: tool, input: {} };
  const delta = { type: 'input_json_delta', partial_json: JSON.stringify(input) };
  return [
    { type: 'message_start', message },
    { type: 'content_block_start', index: 0, content_block },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: USAGE },
    { type: 'message_stop' },
  ]
    .map(frame)
    .join('');
};

const overResponses = ({ tool, input }: ShellCall): string => {
  const json = JSON.stringify(input);
  const item = { id: 'fc_1', type: 'function_call', call_id: 'call_shell', name: tool };
  const done = { ...item, status: 'completed', arguments: json };
  const response = { id: 'resp_1', object: 'response', status: 'in_progress', model: 'gpt', output: [] };
  const usage = {
    ...USAGE,
    total_tokens: 120,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens_details: { reasoning_tokens: 0 },
  };
  const events = [
    { type: 'response.created', response },
    { type: 'response.in_progress', response },
    {
      type: 'response.output_item.added',
      output_index: 0,
      item: { ...item, status: 'in_progress', arguments: '' },
    },
    { type: 'response.function_call_arguments.delta', output_index: 0, item_id: item.id, delta: json },
    { type: 'response.function_call_arguments.done', output_index: 0, item_id: item.id, arguments: json },
    { type: 'response.output_item.done', output_index: 0, item: done },
    { type: 'response.completed', response: { ...response, status: 'completed', output: [done], usage } },
  ];
  return events.map((event, sequence_number) => frame({ ...event, sequence_number })).join('');
};

/** The signature is demanded back with the call. */
const overGemini = ({ tool, input }: ShellCall): string => {
  const functionCall = { name: tool, args: input };
  const thoughtSignature = callSignature(functionCall, DEFAULT_SIGNATURE_SECRET);
  const usageMetadata = { promptTokenCount: 100, candidatesTokenCount: 20, totalTokenCount: 120 };
  const parts = [{ functionCall, thoughtSignature }];
  const candidate = { content: { role: 'model', parts }, finishReason: 'STOP', index: 0 };
  return frame({ candidates: [candidate], usageMetadata });
};

const overConverse = ({ tool, input }: ShellCall): Buffer => {
  const block = { contentBlockIndex: 0 };
  const json = JSON.stringify(input);
  return Buffer.concat([
    eventOf('messageStart', { role: 'assistant' }),
    eventOf('contentBlockStart', {
      ...block,
      start: { toolUse: { toolUseId: 'tooluse_shell', name: tool } },
    }),
    eventOf('contentBlockDelta', { ...block, delta: { toolUse: { input: json.slice(0, 5) } } }),
    eventOf('contentBlockDelta', { ...block, delta: { toolUse: { input: json.slice(5) } } }),
    eventOf('contentBlockStop', block),
    eventOf('messageStop', { stopReason: 'tool_use' }),
    eventOf('metadata', { usage: { inputTokens: 100, outputTokens: 20, totalTokens: 120 } }),
  ]);
};

/** An upstream's stream that calls one tool with this input. */
export const SHELL_CALLS: Readonly<Record<Protocol, (call: ShellCall) => ScriptedReply>> = {
  responses: (call) => ({ sse: overResponses(call) }),
  messages: (call) => ({ sse: overMessages(call) }),
  chat: (call) => ({ sse: overChat(call) }),
  gemini: (call) => ({ sse: overGemini(call) }),
  converse: (call) => ({
    body: overConverse(call),
    cuts: 'bytes',
    headers: { 'content-type': 'application/vnd.amazon.eventstream' },
  }),
};
