/** The protocols of channels at which the text endpoints are tried: passed through, and translated. */
export const TARGETS = ['responses', 'chat'];

const PROMPT = 'Use tool weather.';
const weather = { name: 'weather', description: 'Tells the weather', parameters: { type: 'object' } };

const RESPONSES = {
  input: [
    {
      type: 'message',
      role: 'user',
      content: [
        { type: 'input_text', text: 'a' },
        { type: 'input_image', image_url: 'data:image/png;base64,AA==' },
      ],
    },
    { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{}' },
    { type: 'function_call_output', call_id: 'call_1', output: [{ type: 'input_text', text: 'sunny' }] },
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: PROMPT }] },
  ],
  tools: [{ type: 'function', ...weather }, { type: 'web_search' }],
};
const MESSAGES = {
  max_tokens: 2000,
  system: [{ type: 'text', text: 'Be short.' }],
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'a' },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } },
      ],
    },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'call_1', name: 'weather', input: {} }] },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'call_1', content: [{ type: 'text', text: 'sunny' }] },
        { type: 'text', text: PROMPT },
      ],
    },
  ],
  tools: [
    { name: 'weather', description: 'Tells the weather', input_schema: { type: 'object' } },
    { type: 'web_search_20250305', name: 'web_search' },
  ],
};
const CHAT = {
  messages: [
    { role: 'system', content: 'Be short.' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'a' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
      ],
    },
    {
      role: 'assistant',
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'call_1', content: 'sunny' },
    { role: 'user', content: PROMPT },
  ],
  tools: [{ type: 'function', function: weather }],
};

export interface EntryPoint {
  readonly path: string;
  readonly body: object;
  /** Members that hold a word of a list, and members of any name. */
  readonly words: readonly string[];
  readonly objects: readonly string[];
}

const RESPONSES_WORDS = [
  'input.0.type',
  'input.0.role',
  'input.0.content.0.type',
  'input.0.content.1.type',
  'input.0.content.1.detail',
  'input.0.phase',
  'input.1.type',
  'input.1.name',
  'input.1.call_id',
  'input.2.output.0.type',
  'tools.0.type',
  'tools.0.name',
  'tools.1.type',
  'tools.1.search_context_size',
  'tool_choice',
  'tool_choice.type',
  'reasoning.effort',
  'reasoning.summary',
  'text.format.type',
  'text.verbosity',
  'service_tier',
  'truncation',
  'include.0',
  'prompt_cache_retention',
  'safety_identifier',
];
const MESSAGES_WORDS = [
  'messages.0.role',
  'messages.0.content.0.type',
  'messages.0.content.1.type',
  'messages.0.content.1.source.type',
  'messages.0.content.1.source.media_type',
  'messages.1.content.0.type',
  'messages.1.content.0.name',
  'messages.1.content.0.id',
  'messages.2.content.0.type',
  'messages.2.content.0.content.0.type',
  'system.0.type',
  'system.0.cache_control.type',
  'system.0.cache_control.ttl',
  'tools.0.type',
  'tools.0.name',
  'tools.1.type',
  'tool_choice.type',
  'thinking.type',
  'thinking.display',
  'output_config.effort',
  'output_config.format.type',
  'service_tier',
  'stop_sequences.0',
];
const CHAT_WORDS = [
  'messages.0.role',
  'messages.1.content.0.type',
  'messages.1.content.1.type',
  'messages.1.content.1.image_url.detail',
  'messages.2.tool_calls.0.type',
  'messages.2.tool_calls.0.id',
  'messages.2.tool_calls.0.function.name',
  'tools.0.type',
  'tools.0.function.name',
  'tool_choice',
  'tool_choice.type',
  'response_format.type',
  'reasoning_effort',
  'verbosity',
  'service_tier',
  'modalities.0',
  'stop.0',
  'web_search_options.search_context_size',
];

const TEXT_ENTRY_POINTS: readonly EntryPoint[] = TARGETS.flatMap((protocol) => {
  const model = `at-${protocol}`;
  return [
    {
      path: '/v1/responses',
      body: { model, ...RESPONSES },
      words: RESPONSES_WORDS,
      objects: [
        '',
        'input.0',
        'input.0.content.0',
        'tools.0',
        'tools.0.parameters',
        'tools.0.parameters.properties',
        'metadata',
        'text',
        'reasoning',
      ],
    },
    {
      path: '/v1/messages',
      body: { model, ...MESSAGES },
      words: MESSAGES_WORDS,
      objects: [
        '',
        'messages.0',
        'messages.0.content.0',
        'messages.1.content.0.input',
        'tools.0',
        'tools.0.input_schema',
        'tools.0.input_schema.properties',
        'metadata',
        'output_config',
      ],
    },
    {
      path: '/v1/chat/completions',
      body: { model, ...CHAT },
      words: CHAT_WORDS,
      objects: [
        '',
        'messages.1',
        'messages.1.content.0',
        'tools.0.function',
        'tools.0.function.parameters',
        'tools.0.function.parameters.properties',
        'metadata',
        'logit_bias',
        'stream_options',
      ],
    },
  ];
});
export const IMAGE_WORDS = [
  'size',
  'quality',
  'style',
  'response_format',
  'background',
  'moderation',
  'output_format',
  'user',
];
/** Every endpoint that takes JSON, with a request that is answered with 200. */
export const ENTRY_POINTS: readonly EntryPoint[] = [
  ...TEXT_ENTRY_POINTS,
  ...TEXT_ENTRY_POINTS.flatMap((entry) => {
    if (entry.path === '/v1/messages') return [{ ...entry, path: '/v1/messages/count_tokens' }];
    return entry.path === '/v1/responses' ? [{ ...entry, path: '/v1/responses/input_tokens' }] : [];
  }),
  ...['dall-e-3', 'gpt-image-1', 'any-size'].map((model) => ({
    path: '/v1/images/generations',
    body: { model, prompt: 'a house' },
    words: ['model', ...IMAGE_WORDS],
    objects: [''],
  })),
  ...['tts-1', 'gpt-4o-mini-tts'].map((model) => ({
    path: '/v1/audio/speech',
    body: { model, voice: 'alloy', input: 'hello' },
    words: ['model', 'voice', 'voice.id', 'response_format', 'stream_format', 'instructions', 'speed'],
    objects: ['', 'voice'],
  })),
];
