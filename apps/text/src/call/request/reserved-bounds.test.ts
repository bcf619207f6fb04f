import { expect, test } from 'vitest';
import type { TextProtocolName as TextProtocol } from '../../testing/text-pairs.ts';
import { outputBound } from './output-bound.ts';
import { requestedTiers } from './requested-tiers.ts';
import { unsizedInput, unsizedTokensOf } from './unsized-input.ts';

const OUTPUTS: readonly [body: object, tokens: number | null, answers?: number, protocol?: TextProtocol][] = [
  [{}, null],
  [{ max_tokens: 10 }, 10],
  [{ max_tokens: null, max_completion_tokens: 20 }, 20],
  [{ max_tokens: 100, max_completion_tokens: 20 }, 100],
  [{ max_tokens: 10, max_completion_tokens: 20, max_output_tokens: 30 }, 30],
  [{ max_tokens: 10, max_new_tokens: 40 }, 40],
  [{ max_tokens: 10, options: { num_predict: 50 } }, 50],
  [{ max_tokens: 10, min_tokens: 60 }, 60],
  [{ max_tokens: -1 }, null],
  [{ max_completion_tokens: -1 }, null],
  [{ max_output_tokens: -1 }, null, 1, 'responses'],
  [{ max_tokens: 10, n_predict: -1 }, null],
  [{ max_tokens: 10, min_tokens: 0 }, 10],
  // What bounds an answer at some servers only may be ignored.
  [{ n_predict: 1 }, null],
  [{ max_tokens: 1 }, null, 1, 'responses'],
  [{ max_output_tokens: 1 }, null],
  [{ max_output_tokens: 1 }, null, 1, 'messages'],
  [{ max_tokens: 10, max_completion_tokens: '1e9' }, null],
  [{ max_tokens: 10, max_new_tokens: [] }, null],
  [{ max_tokens: 0 }, null],
  [{ max_tokens: 0 }, 0, 1, 'messages'],
  [{ max_tokens: 10, thinking: { budget_tokens: 1000 } }, 1010],
  [{ max_tokens: 2000, thinking: { budget_tokens: 1024 } }, 2000, 1, 'messages'],
  [{ max_tokens: 10, thinking_budget: 500 }, 510],
  [{ max_tokens: 10, n: 128 }, 10, 128],
  [{ max_tokens: 10, n: 2, best_of: 5 }, 10, 5],
  [{ max_tokens: 10, candidate_count: 3 }, 10, 3],
  [{ max_tokens: 1e15, n: 1e15 }, 1e9, 1e6],
  [{ n: null }, null, 1],
];

test.for(OUTPUTS)(
  '%j demands at most %j tokens of each answer',
  ([body, tokens, answers = 1, protocol = 'chat']) => {
    expect(outputBound(protocol, { ...body })).toEqual({ tokens, answers });
  },
);

const ALL = Number.POSITIVE_INFINITY;
const IMAGE = 50_000;
const chat = (...content: object[]) => ({ messages: [{ role: 'user', content }] });
const responses = (...content: object[]) => ({ input: [{ type: 'message', role: 'user', content }] });

const INPUTS: readonly [name: string, protocol: TextProtocol, body: object, tokens: number][] = [
  ['text', 'chat', chat({ type: 'text', text: 'Hi' }), 0],
  ['text alone', 'responses', { input: 'Hi' }, 0],
  ['functions', 'responses', { input: 'Hi', tools: [{ type: 'function', name: 'f' }] }, 0],
  [
    'functions',
    'messages',
    { messages: [], tools: [{ name: 'f' }, { type: 'bash_20250124', name: 'bash' }] },
    0,
  ],
  ['functions', 'chat', { messages: [], tools: [{ type: 'function', function: { name: 'f' } }] }, 0],
  ['an image', 'chat', chat({ type: 'image_url', image_url: { url: 'https://x.example/a.png' } }), IMAGE],
  [
    'two images',
    'responses',
    responses({ type: 'input_image', file_id: 'file_1' }, { type: 'input_image' }),
    2 * IMAGE,
  ],
  ['a file', 'responses', responses({ type: 'input_file', file_url: 'https://x.example/a.pdf' }), ALL],
  [
    'a packed file',
    'chat',
    chat({ type: 'file', file: { file_data: 'data:application/pdf;base64,AA' } }),
    ALL,
  ],
  ['a video', 'chat', chat({ type: 'video_url', video_url: { url: 'https://x.example/a.mp4' } }), ALL],
  [
    'an address of a recording',
    'chat',
    chat({ type: 'input_audio', input_audio: 'https://x.example/a.mp3' }),
    ALL,
  ],
  ['sound', 'chat', chat({ type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } }), 0],
  ['web search', 'responses', { input: 'Hi', tools: [{ type: 'web_search' }] }, ALL],
  [
    'a tool server',
    'responses',
    { input: 'Hi', tools: [{ type: 'mcp', server_url: 'https://x.example' }] },
    ALL,
  ],
  [
    'web search',
    'messages',
    { messages: [], tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
    ALL,
  ],
  [
    'search among tools',
    'messages',
    { messages: [], tools: [{ type: 'tool_search_tool_regex_20251119' }] },
    0,
  ],
  ['web search', 'chat', { messages: [], web_search_options: {} }, ALL],
  ["a provider's own search", 'chat', { messages: [], tools: [{ type: 'builtin_function' }] }, ALL],
  [
    'a shell at the provider',
    'responses',
    { input: 'Hi', tools: [{ type: 'shell', environment: { type: 'container_auto' } }] },
    ALL,
  ],
  [
    'a shell of the caller',
    'responses',
    { input: 'Hi', tools: [{ type: 'shell', environment: { type: 'local' } }] },
    0,
  ],
  ['frames of a video', 'chat', chat({ type: 'video', video: ['https://x.example/1.jpg'] }), ALL],
  ['a template', 'responses', { prompt: { id: 'pmpt_1' } }, ALL],
  ['tool servers', 'messages', { messages: [], mcp_servers: [{ url: 'https://x.example' }] }, ALL],
  ['no tool servers', 'messages', { messages: [], mcp_servers: [] }, 0],
  [
    'what a tool returned',
    'messages',
    {
      messages: [
        {
          role: 'user',
          content: [{ type: 'tool_result', content: [{ type: 'image', source: { type: 'url' } }] }],
        },
      ],
    },
    IMAGE,
  ],
  [
    'what a function returned',
    'responses',
    { input: [{ type: 'function_call_output', output: [{ type: 'input_file', file_id: 'file_1' }] }] },
    ALL,
  ],
  [
    'a document in the request',
    'messages',
    { messages: [{ role: 'user', content: [{ type: 'document', source: { type: 'text', data: 'Hi' } }] }] },
    0,
  ],
  [
    'a document elsewhere',
    'messages',
    {
      messages: [
        { role: 'user', content: [{ type: 'document', source: { type: 'url', url: 'https://x' } }] },
      ],
    },
    ALL,
  ],
];

test.for(INPUTS)('%s in %s: unknown input is bounded', ([, protocol, body, tokens]) => {
  expect(unsizedInput(protocol, { ...body }).tokens).toBe(tokens);
});

const MANY = Number.POSITIVE_INFINITY;
test.for<[TextProtocol, object, object]>([
  ['responses', { input: 'Hi' }, { calls: {}, othersCalls: 0, total: MANY }],
  [
    'responses',
    {
      tools: [{ type: 'web_search_preview' }, { type: 'file_search' }, { type: 'function' }],
      max_tool_calls: 3,
    },
    { calls: { web_search: MANY, file_search: MANY }, othersCalls: 0, total: 3 },
  ],
  ['responses', { prompt: { id: 'pmpt_1' } }, { calls: {}, othersCalls: MANY, total: MANY }],
  [
    'responses',
    { input: [{ type: 'additional_tools', tools: [{ type: 'web_search' }] }], max_tool_calls: null },
    { calls: { web_search: MANY }, othersCalls: 0, total: MANY },
  ],
  [
    'messages',
    {
      messages: [],
      tools: [{ type: 'web_search_20260209', max_uses: 5 }, { type: 'web_fetch_20260209' }, { name: 'f' }],
    },
    { calls: { web_search: 5, web_fetch: MANY }, othersCalls: 0, total: MANY },
  ],
  ['chat', { messages: [], web_search_options: {} }, { calls: {}, othersCalls: MANY, total: MANY }],
  ['chat', { messages: [], tools: [{ type: 'web_search' }] }, { calls: {}, othersCalls: MANY, total: MANY }],
  ['chat', { messages: [], tools: [{ type: 'function' }] }, { calls: {}, othersCalls: 0, total: MANY }],
])(
  '%s: calls of tools that the provider runs are bounded as the request bounds them: %j',
  ([protocol, body, tools]) => {
    expect(unsizedInput(protocol, { ...body }).tools).toEqual(tools);
  },
);

test('a request that leaves its tier to the provider may be served at any; one that names it, at that one or as usual', () => {
  expect(requestedTiers({})).toBe(null);
  expect(requestedTiers({ service_tier: 'auto' })).toBe(null);
  expect(requestedTiers({ service_tier: 'priority' })).toContain('priority');
  expect(requestedTiers({ service_tier: 'fast' })).toContain('priority');
  for (const tier of ['default', 'standard_only', 'flex'])
    expect(requestedTiers({ service_tier: tier })).not.toContain('priority');
});

test('a stored item is as large as what it names, not as what its text says', () => {
  const item = (part: object) => JSON.stringify({ type: 'message', content: [part] });
  expect(unsizedTokensOf(item({ type: 'input_file', file_id: 'file_1' }))).toBe(ALL);
  expect(unsizedTokensOf(item({ type: 'input_image', file_id: 'file_1' }))).toBe(IMAGE);
  expect(unsizedTokensOf(item({ type: 'input_text', text: '{"type":"input_file"}' }))).toBe(0);
});
