import { pngFile, wavFile } from '../support/media-files.ts';

/** Valid requests of every endpoint that takes a body, as rich as the endpoint allows: what is changed begins with these. */

const TOOL = {
  type: 'function',
  name: 'look_up',
  description: 'Looks something up',
  parameters: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
  strict: true,
};
const PICTURE = `data:image/png;base64,${Buffer.from(await pngFile().arrayBuffer()).toString('base64')}`;
const RESPONSE = {
  instructions: 'Be brief.',
  input: [
    {
      type: 'message',
      role: 'user',
      content: [
        { type: 'input_text', text: 'What is this?' },
        { type: 'input_image', image_url: PICTURE, detail: 'low' },
      ],
    },
    { type: 'function_call', call_id: 'call_1', name: 'look_up', arguments: '{"word":"x"}' },
    { type: 'function_call_output', call_id: 'call_1', output: 'a letter' },
    { role: 'user', content: 'And then?' },
  ],
  tools: [TOOL, { type: 'web_search' }],
  tool_choice: 'auto',
  temperature: 0.5,
  top_p: 0.9,
  max_output_tokens: 300,
  reasoning: { effort: 'low', summary: 'auto' },
  text: {
    format: {
      type: 'json_schema',
      name: 'answer',
      schema: {
        type: 'object',
        properties: { a: { type: 'string' } },
        required: ['a'],
        additionalProperties: false,
      },
    },
  },
  metadata: { a: 'b' },
  store: false,
  stream: false,
  parallel_tool_calls: true,
  include: ['reasoning.encrypted_content'],
};
const MESSAGE = {
  max_tokens: 300,
  system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'What is this?' },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PICTURE.split(',')[1] } },
      ],
    },
    {
      role: 'assistant',
      content: [{ type: 'tool_use', id: 'toolu_1', name: 'look_up', input: { word: 'x' } }],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'a letter' }] },
      ],
    },
  ],
  tools: [{ name: 'look_up', description: 'Looks something up', input_schema: TOOL.parameters }],
  tool_choice: { type: 'auto' },
  temperature: 0.5,
  top_p: 0.9,
  top_k: 5,
  stop_sequences: ['END'],
  metadata: { user_id: 'u' },
  stream: false,
};
const CHAT = {
  messages: [
    { role: 'system', content: 'Be brief.' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'What is this?' },
        { type: 'image_url', image_url: { url: PICTURE } },
      ],
    },
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        { id: 'call_1', type: 'function', function: { name: 'look_up', arguments: '{"word":"x"}' } },
      ],
    },
    { role: 'tool', tool_call_id: 'call_1', content: 'a letter' },
  ],
  tools: [{ type: 'function', function: { name: 'look_up', parameters: TOOL.parameters } }],
  tool_choice: 'auto',
  response_format: { type: 'json_object' },
  temperature: 0.5,
  max_completion_tokens: 300,
  stop: ['END'],
  n: 1,
  logit_bias: { '1': 1 },
  stream: false,
  stream_options: null,
};

export const TEXT_MODELS = ['over-responses', 'over-messages', 'over-chat'] as const;
const forEachModel = (path: string, json: object) =>
  TEXT_MODELS.map((model) => ({ path, json: { model, ...json } }));
const streamed = <T extends { json: object }>(requests: readonly T[]) =>
  requests.map((request) => ({ ...request, json: { ...request.json, stream: true } }));

const GENERATION = {
  model: 'gpt-image-1',
  prompt: 'a house',
  n: 2,
  size: '1024x1024',
  quality: 'low',
  output_format: 'png',
  background: 'opaque',
  moderation: 'low',
};
const OLD_GENERATION = {
  model: 'dall-e-2',
  prompt: 'a house',
  n: 1,
  size: '256x256',
  response_format: 'b64_json',
  user: 'u',
};
const SPEECH = { model: 'tts-1', input: 'Good morning.', voice: 'alloy', response_format: 'mp3', speed: 1.5 };

export interface ValidRequest {
  readonly path: string;
  readonly json: object;
}

const texts = [
  ...forEachModel('/v1/responses', RESPONSE),
  ...forEachModel('/v1/messages', MESSAGE),
  ...forEachModel('/v1/chat/completions', CHAT),
];

export const JSON_REQUESTS: readonly ValidRequest[] = [
  ...texts,
  ...streamed(texts),
  ...forEachModel('/v1/responses/input_tokens', RESPONSE),
  ...forEachModel('/v1/messages/count_tokens', MESSAGE),
  { path: '/v1/conversations', json: { items: RESPONSE.input, metadata: { a: 'b' } } },
  { path: '/v1/images/generations', json: GENERATION },
  { path: '/v1/images/generations', json: { ...GENERATION, stream: true, partial_images: 2 } },
  { path: '/v1/images/generations', json: OLD_GENERATION },
  {
    path: '/v1/images/edits',
    json: { model: 'gpt-image-1', prompt: 'a house', images: [{ image_url: PICTURE }] },
  },
  { path: '/v1/audio/speech', json: SPEECH },
  {
    path: '/v1/audio/speech',
    json: { ...SPEECH, model: 'gpt-4o-mini-tts', stream_format: 'sse', instructions: 'calmly' },
  },
];

/** A line of a batch, below the path that takes it. */
export const BATCH_LINES: readonly ValidRequest[] = [
  {
    path: '/v1/images/jobs',
    json: { custom_id: 'a', method: 'POST', url: '/v1/images/generations', body: OLD_GENERATION },
  },
  { path: '/v1/audio/jobs', json: { custom_id: 'a', method: 'POST', url: '/v1/audio/speech', body: SPEECH } },
];

export interface FormPart {
  readonly name: string;
  readonly value: string | File;
}

export interface ValidForm {
  readonly path: string;
  readonly parts: readonly FormPart[];
}

const partsOf = (values: Record<string, string | File>): FormPart[] =>
  Object.entries(values).map(([name, value]) => ({ name, value }));

export const FORMS: readonly ValidForm[] = [
  {
    path: '/v1/images/edits',
    parts: partsOf({
      model: 'gpt-image-1',
      prompt: 'a house',
      image: pngFile(),
      quality: 'low',
      n: '1',
      size: '1024x1024',
    }),
  },
  {
    path: '/v1/images/edits',
    parts: partsOf({
      model: 'dall-e-2',
      prompt: 'a house',
      image: pngFile(),
      mask: pngFile('mask.png', { alpha: 0 }),
      size: '256x256',
      response_format: 'b64_json',
    }),
  },
  {
    path: '/v1/audio/transcriptions',
    parts: partsOf({
      model: 'whisper-1',
      file: wavFile(1),
      language: 'en',
      temperature: '0.5',
      response_format: 'verbose_json',
      'timestamp_granularities[]': 'word',
      prompt: 'names',
    }),
  },
  {
    path: '/v1/audio/transcriptions',
    parts: partsOf({
      model: 'gpt-4o-transcribe',
      file: wavFile(1),
      stream: 'true',
      'include[]': 'logprobs',
      chunking_strategy: 'auto',
    }),
  },
];
