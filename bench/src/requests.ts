/** The requests that are measured. */
export interface Request {
  readonly path: string;
  /** JSON text. */
  readonly body: string;
}

const MODEL = 'gpt-5.2';
/** Its channel speaks Messages alone, so that a request in another protocol is translated. */
const TRANSLATED_MODEL = 'claude-sonnet-5';
const EVENTS_PER_STREAM = 500;
/** A tenth of a second of PCM at 24 kHz. */
const [SOUND, SILENCE] = [7, 0].map((byte) => Buffer.alloc(4800, byte).toString('base64'));

const small = { model: MODEL, input: 'Say hello.', store: false };
const fast = { ...small, input: `Count. [[simulate tokens=${EVENTS_PER_STREAM}]]`, stream: true };

const PARAGRAPH =
  'You are a careful engineer. Read the code before you change it; prefer the smallest change that is right. ';

const parametersOf = (tool: number) => ({
  type: 'object',
  properties: Object.fromEntries(
    Array.from({ length: 6 }, (_, argument) => [
      `argument_${argument}`,
      { type: 'string', description: `What to use as argument ${argument} of tool ${tool}.` },
    ]),
  ),
  required: ['argument_0'],
  additionalProperties: false,
});

const functions = Array.from({ length: 60 }, (_, tool) => ({
  name: `tool_${tool}`,
  description: `Does the thing number ${tool}. ${PARAGRAPH.repeat(3)}`,
  strict: false,
  parameters: parametersOf(tool),
}));

const turns = [
  ...Array.from({ length: 76 }, (_, index) => ({
    role: index % 2 === 0 ? 'user' : 'assistant',
    text: PARAGRAPH.repeat(5),
  })),
  { role: 'user', text: 'Go on.' },
];

/** About what a coding agent sends on every turn: a long system prompt, many tools, some history. */
const agentChat = {
  model: MODEL,
  messages: [
    { role: 'system', content: PARAGRAPH.repeat(100) },
    ...turns.map(({ role, text }) => ({ role, content: text })),
  ],
  tools: functions.map((made) => ({ type: 'function', function: made })),
  tool_choice: 'auto',
};

/** The same as a Responses request, whose reply repeats the tools. */
const agentResponses = {
  model: MODEL,
  instructions: PARAGRAPH.repeat(100),
  input: turns.map(({ role, text }) => ({
    type: 'message',
    role,
    content: [{ type: role === 'user' ? 'input_text' : 'output_text', text }],
  })),
  tools: functions.map((made) => ({ type: 'function', ...made })),
  tool_choice: 'auto',
  store: false,
};

const responses = (body: object): Request => ({ path: '/v1/responses', body: JSON.stringify(body) });
const chat = (body: object): Request => ({ path: '/v1/chat/completions', body: JSON.stringify(body) });

/** One turn of a conversation that goes on by the ids of its responses. */
export const chainTurn = (turn: number, previous: string | null, model: 'passed' | 'translated'): Request =>
  responses({
    model: model === 'passed' ? MODEL : TRANSLATED_MODEL,
    input: `Turn ${turn}. ${PARAGRAPH}`,
    ...(previous !== null && { previous_response_id: previous }),
  });

export const REQUESTS = {
  small: responses(small),
  /** To channels that differ in their credentials alone. */
  keyed: responses({ ...small, model: 'keyed' }),
  /** One text, as clients send it, beside a chat of the same words. */
  embeddings: {
    path: '/v1/embeddings',
    body: JSON.stringify({
      ...{ model: 'text-embedding-3-small', input: small.input },
      ...{ dimensions: 256, encoding_format: 'base64' },
    }),
  },
  smallChat: chat({ model: MODEL, messages: [{ role: 'user', content: small.input }] }),
  /** The same chat as the lines of a batch. */
  batchLine: {
    path: '/v1/batches',
    body: chat({ model: MODEL, messages: [{ role: 'user', content: small.input }] }).body,
  },
  /** The same question in Google's protocol. */
  gemini: {
    path: `/v1beta/models/${MODEL}:generateContent`,
    body: JSON.stringify({ contents: [{ role: 'user', parts: [{ text: small.input }] }] }),
  },
  /** One turn of a realtime session: a second of sound, a silence that ends it, and a spoken answer. */
  realtime: {
    path: '/v1/realtime?model=gpt-realtime',
    body: [...Array.from({ length: 10 }, () => SOUND), SILENCE]
      .map((audio) => JSON.stringify({ type: 'input_audio_buffer.append', audio }))
      .join('\n'),
  },
  signed: responses({ ...small, model: 'signed' }),
  token: responses({ ...small, model: 'by-token' }),
  /** Its response is kept, with its input. */
  stored: responses({ ...small, store: true }),
  storedTranslated: responses({ ...small, model: TRANSLATED_MODEL, store: true }),
  translated: responses({ ...small, model: TRANSLATED_MODEL }),
  agent: chat(agentChat),
  agentTranslated: chat({ ...agentChat, model: TRANSLATED_MODEL }),
  agentRepeated: responses(agentResponses),
  /** The same small answer as events: over HTTP, and over a WebSocket. */
  smallStream: responses({ ...small, stream: true }),
  smallSocket: responses({ type: 'response.create', ...small }),
  stream: responses(fast),
  streamTranslated: responses({ ...fast, model: TRANSLATED_MODEL }),
  /** Twenty events a second for about five seconds. */
  paced: responses({ ...small, input: 'Count. [[simulate tokens=100 pace=50]]', stream: true }),
} as const satisfies Record<string, Request>;
