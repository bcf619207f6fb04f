import { parseJson } from '@gateway/service-kit/request/json-body';
import { expect, test } from 'vitest';
import { describeBody } from './read-text-request.ts';
import { CHAT, COUNT_TOKENS, MESSAGES, RESPONSES, type TextEndpoint } from './text-endpoint.ts';
import { describeRequest, type TextRequest } from './text-request.ts';

const LARGE = 'lorem ipsum '.repeat(50_000);
const MANY = Array.from({ length: 6000 }, (_, index) => ({ role: 'user', content: `text ${index}` }));
const MAX_DEPTH = 128;

const described = ({ content, large: _, ownValue, ...request }: TextRequest) => ({
  ...request,
  content: content.take(),
  ownValue: ownValue?.serialize() ?? null,
});

test.for<[string, TextEndpoint, object]>([
  ['Responses with a large text', RESPONSES, { input: LARGE, previous_response_id: 'resp_1', store: true }],
  [
    'Responses with many items',
    RESPONSES,
    {
      input: [...MANY, { type: 'item_reference', id: 'msg_1' }],
      tools: [{ type: 'web_search' }],
      n: 2512292042121000001n,
    },
  ],
  [
    'Messages with a large text',
    MESSAGES,
    { max_tokens: 9, stream: true, messages: [{ role: 'user', content: LARGE }] },
  ],
  ['Messages to be counted', COUNT_TOKENS, { messages: MANY }],
  ['Chat with many messages', CHAT, { messages: MANY, stream_options: { include_usage: true } }],
  ["Chat with a value of another maker's", CHAT, { messages: MANY, reasoning_effort: 'default' }],
])('%s: a large body is read in a thread, to the same request', async ([, endpoint, body]) => {
  const text = JSON.stringify({ model: 'm', ...body }, (_, value) =>
    typeof value === 'bigint' ? JSON.rawJSON(String(value)) : value,
  );
  const here = describeRequest(endpoint, Buffer.from(text), parseJson(Buffer.from(text), MAX_DEPTH));
  const inThread = describeBody(endpoint, Buffer.from(text), MAX_DEPTH);
  // The event loop has other turns meanwhile.
  expect(inThread).toBeInstanceOf(Promise);
  const read = await inThread;
  expect(described(read)).toEqual(described(here));
  expect(read.large?.bytes).toEqual(here.bytes);
});

test.for([
  ['no JSON', `{"model":"m","input":"${LARGE}"`, 'invalid_json'],
  ['deep JSON', `{"model":"m","input":"${LARGE}","x":${'['.repeat(200)}${']'.repeat(200)}}`, 'invalid_json'],
  ['a repeated member', `{"model":"m","input":"${LARGE}","model":"n"}`, 'invalid_json'],
  ['a value of another type', `{"model":"m","input":"${LARGE}","stream":"yes"}`, 'invalid_type'],
  ['too many values', `{"model":"m","input":"x","x":[1${',1'.repeat(250_001)}]}`, 'array_above_max_length'],
] as const)('a large body is refused as a small one: %s', async ([, text, code]) => {
  const body = Buffer.from(text);
  await expect(describeBody(RESPONSES, body, MAX_DEPTH)).rejects.toMatchObject({ code });
});

test('an ordinary body is read at once', () => {
  const body = Buffer.from(JSON.stringify({ model: 'm', input: 'x'.repeat(200_000) }));
  expect(describeBody(RESPONSES, body, MAX_DEPTH)).not.toBeInstanceOf(Promise);
});

test.for<[TextEndpoint, object, string | null]>([
  [RESPONSES, { input: 'hi', safety_identifier: 'ann', user: 'old' }, 'ann'],
  [RESPONSES, { input: 'hi', user: 'old' }, 'old'],
  [CHAT, { messages: [{ role: 'user', content: 'hi' }], user: 'ben' }, 'ben'],
  [
    MESSAGES,
    {
      max_tokens: 1,
      messages: [{ role: 'user', content: 'hi' }],
      metadata: { user_id: 'user_1_account_2_session_3-4' },
    },
    'user_1_account_2',
  ],
  [MESSAGES, { max_tokens: 1, messages: [{ role: 'user', content: 'hi' }] }, null],
])('the end user of a request is whom its body names', ([endpoint, body, endUser]) => {
  const bytes = Buffer.from(JSON.stringify({ model: 'm', ...body }));
  expect(describeRequest(endpoint, bytes, parseJson(bytes, MAX_DEPTH)).endUser).toBe(endUser);
});
