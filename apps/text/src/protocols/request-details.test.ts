import { GatewayError } from '@gateway/contracts/gateway-error';
import { expect, test } from 'vitest';
import { translateRequest } from '../conversion/translate-request.ts';
import { testTarget, testTokens } from '../testing/test-context.ts';
import { TEXT_PROTOCOLS, type TextProtocolName as TextProtocol } from '../testing/text-pairs.ts';
import { formatPath } from '../wire/path.ts';

const CROSSINGS = TEXT_PROTOCOLS.flatMap((caller) =>
  TEXT_PROTOCOLS.filter((target) => target !== caller).map((target) => ({ caller, target })),
);

const translate = (caller: TextProtocol, target: TextProtocol, body: object) =>
  translateRequest({ caller, body, target: testTarget(target), tokens: testTokens });

const droppedOf = (caller: TextProtocol, target: TextProtocol, body: object): string[] =>
  translate(caller, target, body).dropped.map(({ path }) => formatPath(path));

/** A request with one part from the user. */
const showing = (caller: TextProtocol, part: object): object =>
  ({
    responses: { model: 'm', input: [{ role: 'user', content: [part] }] },
    messages: { model: 'm', max_tokens: 100, messages: [{ role: 'user', content: [part] }] },
    chat: { model: 'm', messages: [{ role: 'user', content: [part] }] },
  })[caller];

const image = (caller: TextProtocol, mediaType: string): object =>
  ({
    responses: { type: 'input_image', image_url: `data:${mediaType};base64,/9j/4AAQ` },
    messages: { type: 'image', source: { type: 'base64', media_type: mediaType, data: '/9j/4AAQ' } },
    chat: { type: 'image_url', image_url: { url: `data:${mediaType};base64,/9j/4AAQ` } },
  })[caller];

test.for(CROSSINGS)(
  '$caller to $target: image/jpg reaches an upstream as image/jpeg',
  ({ caller, target }) => {
    const written = JSON.stringify(
      translate(caller, target, showing(caller, image(caller, 'image/JPG'))).body,
    );
    expect(written).toMatch(/data:image\/jpeg;base64|"media_type":"image\/jpeg"/);
    expect(written).not.toMatch(/image\/jpg/i);
  },
);

test.for(['messages', 'chat'] as const)(
  '%s to responses: the detail of an image is "auto" where the caller left it out',
  (caller) => {
    const { body, dropped } = translate(caller, 'responses', showing(caller, image(caller, 'image/png')));
    expect(body).toMatchObject({ input: [{ content: [{ type: 'input_image', detail: 'auto' }] }] });
    expect(dropped).toEqual([]);
  },
);

test('a detail that was given stays', () => {
  const part = { type: 'image_url', image_url: { url: 'https://example.org/a.png', detail: 'low' } };
  expect(translate('chat', 'responses', showing('chat', part)).body).toMatchObject({
    input: [{ content: [{ detail: 'low' }] }],
  });
});

const PICTURE = { type: 'image', source: { type: 'url', url: 'https://example.org/a.png' } };

const failing = (content: unknown): object => ({
  model: 'm',
  max_tokens: 100,
  messages: [
    { role: 'user', content: 'Look' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', is_error: true, content }] },
  ],
});

test.for([
  ['chat', 'no such place', '"Error: no such place"'],
  ['chat', 'Error: no such place', '"Error: no such place"'],
  ['chat', 'error: no such place', '"error: no such place"'],
  ['responses', 'no such place', '"Error: no such place"'],
  ['responses', 'Error: no such place', '"Error: no such place"'],
  ['responses', [{ type: 'text', text: 'Error: too dark' }, PICTURE], '"Error: too dark"'],
] as const)('to %s: a failed tool result of %j has Error once', ([target, content, expected]) => {
  const written = JSON.stringify(translate('messages', target, failing(content)).body);
  expect(written).toContain(expected);
  expect(written.match(/error:/gi)).toHaveLength(1);
});

const chatCall = (message: object): object => ({
  model: 'm',
  messages: [
    { role: 'user', content: 'Look' },
    {
      role: 'assistant',
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'call_1', content: 'seen', ...message },
  ],
});

test.for(['responses', 'messages'] as const)(
  'chat to %s: the name on a tool message is a loss only where it is not the name of the tool',
  (target) => {
    expect(droppedOf('chat', target, chatCall({ name: 'look' }))).toEqual([]);
    expect(droppedOf('chat', target, chatCall({ name: 'other' }))).toEqual(['messages[2].name']);
  },
);

const SCHEMA = { type: 'object', properties: {} };
const formatted = (caller: TextProtocol, strict: object): object =>
  caller === 'chat'
    ? {
        model: 'm',
        messages: [{ role: 'user', content: 'Hello' }],
        tools: [{ type: 'function', function: { name: 'f', parameters: SCHEMA, ...strict } }],
        response_format: { type: 'json_schema', json_schema: { name: 'n', schema: SCHEMA, ...strict } },
      }
    : {
        model: 'm',
        input: 'Hello',
        tools: [{ type: 'function', name: 'f', parameters: SCHEMA, ...strict }],
        text: { format: { type: 'json_schema', name: 'n', schema: SCHEMA, ...strict } },
      };

test.for(CROSSINGS.filter(({ caller }) => caller !== 'messages'))(
  '$caller to $target: a strict that nobody wrote is no loss',
  ({ caller, target }) => {
    expect(droppedOf(caller, target, formatted(caller, {}))).toEqual([]);
    expect(droppedOf(caller, target, formatted(caller, { strict: null }))).toEqual([]);
  },
);

test('a strict of false is a loss where schemas are always strict', () => {
  expect(droppedOf('chat', 'messages', formatted('chat', { strict: false }))).toEqual([
    'response_format.json_schema.strict',
  ]);
});

test.for(['responses', 'messages'] as const)(
  'chat to %s: an image that a tool returned is shown',
  (target) => {
    const content = [
      { type: 'text', text: 'see' },
      { type: 'image_url', image_url: { url: 'https://example.org/seen.png' } },
    ];
    const { body, dropped } = translate('chat', target, chatCall({ content }));
    expect(JSON.stringify(body)).toContain('https://example.org/seen.png');
    expect(dropped).toEqual([]);
  },
);

interface WrongPart {
  readonly caller: TextProtocol;
  readonly part: object;
  readonly path: string;
  readonly message: string;
}

const MISSING = (path: string) => `Missing required parameter: '${path}'.`;

test.for<WrongPart>([
  {
    caller: 'responses',
    part: { type: 'picture', url: 'x' },
    path: 'input[0].content[0].type',
    message:
      "Invalid value: 'picture'. Supported values are: 'input_text', 'output_text', 'refusal', 'input_image', 'input_file', and 'input_audio'.",
  },
  {
    caller: 'responses',
    part: { type: 'input_text' },
    path: 'input[0].content[0].text',
    message: MISSING('input[0].content[0].text'),
  },
  {
    caller: 'responses',
    part: { type: 'input_image', image_url: 'iVBORw0KGgo' },
    path: 'input[0].content[0].image_url',
    message: 'Expected an http(s) URL or a data URL with a media type, such as data:image/png;base64,….',
  },
  {
    caller: 'chat',
    part: { type: 'input_text', text: 'x' },
    path: 'messages[0].content[0].type',
    message:
      "Invalid value: 'input_text'. Supported values are: 'text', 'refusal', 'image_url', 'input_audio', and 'file'.",
  },
  {
    caller: 'chat',
    part: { type: 'image_url', image_url: 'https://example.org/a.png' },
    path: 'messages[0].content[0].image_url',
    message:
      "Invalid type for 'messages[0].content[0].image_url': expected an object, but got a string instead.",
  },
  {
    caller: 'messages',
    part: { type: 'image', source: { type: 'base64', data: 'x' } },
    path: 'messages[0].content[0].source.media_type',
    message: MISSING('messages[0].content[0].source.media_type'),
  },
  {
    caller: 'messages',
    part: { type: 'image', source: { type: 'path', path: 'x' } },
    path: 'messages[0].content[0].source.type',
    message: "Invalid value: 'path'. Supported values are: 'base64', 'url', and 'file'.",
  },
])('$caller: an error of a part names its path: $path', ({ caller, part, path, message }) => {
  const target = caller === 'chat' ? 'messages' : 'chat';
  const refusal = () => translate(caller, target, showing(caller, part));
  expect(refusal).toThrow(GatewayError);
  expect(refusal).toThrow(message);
  try {
    refusal();
  } catch (error) {
    expect(error instanceof GatewayError && formatPath(error.options.path ?? [])).toBe(path);
  }
});

const NO_ARGUMENTS = [
  undefined,
  null,
  {},
  { type: 'object' },
  { type: null, properties: null, required: null },
  { type: 'object', properties: null },
  { type: ['object', 'null'], properties: [] },
] as const;

/** A request with one tool under `parameters`, in the words of its protocol. */
const offering = (caller: TextProtocol, parameters: unknown, more: object = {}): object => {
  const fn = { name: 'stop', parameters, ...more };
  return {
    responses: { model: 'm', input: 'Stop', tools: [{ type: 'function', ...fn }] },
    messages: {
      model: 'm',
      max_tokens: 100,
      messages: [{ role: 'user', content: 'Stop' }],
      tools: [{ name: 'stop', ...(parameters !== undefined && { input_schema: parameters }), ...more }],
    },
    chat: {
      model: 'm',
      messages: [{ role: 'user', content: 'Stop' }],
      tools: [{ type: 'function', function: fn }],
    },
  }[caller];
};

const schemaIn = (body: unknown): unknown => {
  const [tool] = Object(body).tools;
  return tool.input_schema ?? tool.parameters ?? tool.function.parameters;
};

test.for(CROSSINGS)(
  '$caller to $target: a tool without arguments has a schema that every server takes',
  ({ caller, target }) => {
    for (const parameters of NO_ARGUMENTS) {
      const { body, dropped } = translate(caller, target, offering(caller, parameters));
      expect(schemaIn(body)).toEqual({ type: 'object', properties: {} });
      expect(dropped).toEqual([]);
      const strictly = translate(caller, target, offering(caller, parameters, { strict: true })).body;
      expect(schemaIn(strictly)).toEqual({
        type: 'object',
        properties: {},
        required: [],
        additionalProperties: false,
      });
    }
    const own = { description: 'The place.', properties: { at: { type: 'string' } }, required: ['at'] };
    expect(schemaIn(translate(caller, target, offering(caller, own)).body)).toEqual({
      ...own,
      type: 'object',
    });
  },
);

const INSTRUCTIONS_ALONE: readonly (readonly [TextProtocol, object])[] = [
  ['chat', { messages: [{ role: 'system', content: 'Write a haiku.' }] }],
  ['chat', { messages: [{ role: 'developer', content: [{ type: 'text', text: 'Write a haiku.' }] }] }],
  ['responses', { input: [{ role: 'developer', content: 'Write a haiku.' }] }],
  ['responses', { instructions: 'Write a haiku.', input: [{ role: 'user', content: [] }] }],
  ['messages', { max_tokens: 9, system: 'Write a haiku.', messages: [{ role: 'user', content: '' }] }],
];

test.for(
  INSTRUCTIONS_ALONE.flatMap(([caller, more]) => TEXT_PROTOCOLS.map((target) => ({ caller, more, target }))),
)('$caller to $target: nothing but instructions is what the user says', ({ caller, more, target }) => {
  if (caller === target) return;
  const { body } = translate(caller, target, { model: 'm', ...more });
  const turns = Object(body).messages ?? Object(body).input;
  expect(turns).toHaveLength(1);
  expect(turns[0].role).toBe('user');
  expect(JSON.stringify(turns[0].content)).toContain('Write a haiku.');
  expect(body).not.toHaveProperty('system');
  expect(body).not.toHaveProperty('instructions');
});

test.for(['messages', 'chat'] as const)(
  'responses to %s: a tool that only code may call is not offered',
  (target) => {
    const tool = (name: string, callers: unknown) => ({
      type: 'function',
      name,
      parameters: SCHEMA,
      ...(callers !== undefined && { allowed_callers: callers }),
    });
    const tools = [
      tool('coded', ['programmatic']),
      tool('plain', undefined),
      tool('both', ['direct', 'programmatic']),
    ];
    const { body, dropped } = translate('responses', target, { model: 'm', input: 'hi', tools });
    const offered = JSON.stringify(body);
    expect(offered).not.toContain('coded');
    expect(offered).toContain('"plain"');
    expect(offered).toContain('"both"');
    expect(dropped.map(({ path }) => formatPath(path))).toContain('tools[0]');
    for (const choice of ['required', { type: 'function', name: 'coded' }])
      expect(() =>
        translate('responses', target, {
          model: 'm',
          input: 'hi',
          tools: tools.slice(0, 1),
          tool_choice: choice,
        }),
      ).toThrow(expect.objectContaining({ code: 'unsupported_parameter' }));
  },
);

const FOREIGN_ITEMS = [
  { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'aGk=' },
  {
    type: 'code_interpreter_call',
    id: 'ci_1',
    code: '1',
    container_id: 'c',
    outputs: null,
    status: 'completed',
  },
  { type: 'mcp_call', id: 'mcp_1', name: 'n', arguments: '{}', server_label: 's' },
  { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', queries: [] } },
  { type: 'multi_agent_call', id: 'ma_1' },
  { type: 'brand_new_call', id: 'bn_1' },
];
const FOREIGN_BLOCKS = [
  { type: 'server_tool_use', id: 'srvtoolu_1', name: 'code_execution', input: {} },
  { type: 'code_execution_tool_result', tool_use_id: 'srvtoolu_1', content: {} },
  { type: 'container_upload', file_id: 'file_1' },
  { type: 'mcp_tool_listing', tools: [] },
  { type: 'brand_new', x: 1 },
];
const FOREIGN_PARTS = [
  { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] },
  { type: 'brand_new', x: 1 },
];

/** An earlier answer with what only its maker knows, and a text after it. */
const HISTORIES: Readonly<Record<TextProtocol, { readonly body: object; readonly lost: readonly string[] }>> =
  {
    responses: {
      body: {
        input: [
          { role: 'user', content: 'Draw' },
          ...FOREIGN_ITEMS,
          {
            role: 'assistant',
            content: [
              { type: 'brand_new', x: 1 },
              { type: 'output_text', text: 'Drawn.' },
            ],
          },
          { role: 'user', content: 'And?' },
        ],
      },
      lost: [...FOREIGN_ITEMS.map((_, index) => `input[${index + 1}]`), 'input[7].content[0]'],
    },
    messages: {
      body: {
        max_tokens: 100,
        messages: [
          { role: 'user', content: 'Draw' },
          { role: 'assistant', content: [...FOREIGN_BLOCKS, { type: 'text', text: 'Drawn.' }] },
          { role: 'user', content: 'And?' },
        ],
      },
      lost: FOREIGN_BLOCKS.map((_, index) => `messages[1].content[${index}]`),
    },
    chat: {
      body: {
        messages: [
          { role: 'user', content: 'Draw' },
          {
            role: 'assistant',
            audio: { id: 'a_1' },
            content: [...FOREIGN_PARTS, { type: 'text', text: 'Drawn.' }],
          },
          { role: 'user', content: 'And?' },
        ],
      },
      lost: ['messages[1].audio', ...FOREIGN_PARTS.map((_, index) => `messages[1].content[${index}]`)],
    },
  };

test.for(CROSSINGS)(
  "$caller to $target: what an earlier answer has of its vendor's own is dropped by name, its text stays",
  ({ caller, target }) => {
    const { body, lost } = HISTORIES[caller];
    const { body: written, dropped } = translate(caller, target, { model: 'm', ...body });
    expect(dropped.map(({ path }) => formatPath(path))).toEqual(expect.arrayContaining([...lost]));
    expect(JSON.stringify(written)).toContain('Drawn.');
    expect(JSON.stringify(written)).not.toContain('brand_new');
  },
);

test.for([
  ['responses', { input: [{ role: 'user', content: [{ type: 'brand_new' }] }] }],
  ['responses', { input: [{ type: 'item_reference', id: 'msg_1' }] }],
  [
    'messages',
    { max_tokens: 9, messages: [{ role: 'user', content: [{ type: 'container_upload', file_id: 'f' }] }] },
  ],
  ['chat', { messages: [{ role: 'user', content: [{ type: 'brand_new' }] }] }],
] as const)('%s: what the user shows is not dropped: %j', ([caller, body]) => {
  for (const target of TEXT_PROTOCOLS.filter((one) => one !== caller))
    expect(() => translate(caller, target, { model: 'm', ...body })).toThrow(GatewayError);
});

test.for(['messages', 'chat'] as const)(
  'responses to %s: the last update of the configuration replaces the settings of the request',
  (target) => {
    const update = (more: object) => ({ type: 'configuration_update', id: 'cu_1', ...more });
    const format = { type: 'json_schema', name: 'n', schema: SCHEMA };
    const { body, dropped } = translate('responses', target, {
      model: 'm',
      reasoning: { effort: 'low' },
      input: [
        update({ reasoning: { effort: 'medium' }, text: { format } }),
        { role: 'user', content: 'hi' },
        update({ reasoning: { effort: 'high' } }),
      ],
    });
    expect(dropped).toEqual([]);
    expect(body).toMatchObject(
      target === 'chat'
        ? { reasoning_effort: 'high', response_format: { type: 'json_schema' } }
        : { output_config: { effort: 'high', format: { type: 'json_schema' } } },
    );
  },
);

const MODERATED = (mode: string) => ({
  model: 'omni-moderation',
  policy: { input: { mode: 'score' }, output: { mode } },
});

test.for(CROSSINGS.filter(({ caller }) => caller !== 'messages'))(
  '$caller to $target: moderation that blocks is carried or refused, never dropped',
  ({ caller, target }) => {
    const request = (moderation: object) => ({
      ...showing(caller, {}),
      ...HISTORIES[caller].body,
      moderation,
    });
    for (const moderation of [
      MODERATED('block'),
      MODERATED('another'),
      { mode: 'block' },
      { policy: { mode: 'block' } },
    ]) {
      const translated = () => translate(caller, target, request(moderation)).body;
      if (target !== 'messages') expect(translated()).toMatchObject({ moderation });
      else
        expect(translated).toThrow(
          expect.objectContaining({
            code: 'unsupported_parameter',
            options: expect.objectContaining({ path: ['moderation'] }),
          }),
        );
    }
    if (target !== 'messages') return;
    expect(droppedOf(caller, target, request(MODERATED('score')))).toContain('moderation');
  },
);

test.for(['guardrails', 'guardrail_config', 'safe_prompt', 'safety_settings'])(
  'a guard of answers by another maker is refused where it does not exist: %s',
  (name) => {
    const request = (value: unknown) => ({
      model: 'm',
      messages: [{ role: 'user', content: 'hi' }],
      [name]: value,
    });
    expect(() => translate('chat', 'messages', request(true))).toThrow(
      expect.objectContaining({
        code: 'unsupported_parameter',
        options: expect.objectContaining({ path: [name] }),
      }),
    );
    expect(droppedOf('chat', 'messages', request(false))).toEqual([name]);
  },
);
