import type { Dialect } from '@gateway/contracts/gateway-error';
import { expect, test } from 'vitest';
import type { Candidate } from '../candidate.ts';
import { createCatalog, NO_LOADS } from '../catalog.ts';
import { parseConfiguration } from '../configuration/parse-configuration.ts';
import type { Protocol } from '../protocol.ts';
import { answerFailure } from './answer-failure.ts';
import { failureError } from './failure.ts';

const KEY = 'my-own-format-of-a-key/1';

const candidateOf = (protocol: Protocol, baseUrl = 'https://api.provider.example/v1'): Candidate => {
  const provider = protocol === 'messages' ? 'anthropic' : 'openai';
  const text = `
channels:
  one: { provider: ${provider}, baseUrl: "${baseUrl.replace(/\/v1$/, protocol === 'messages' ? '' : '/v1')}", apiKey: ${KEY}, headers: { x-team: header-secret } }
models:
  small: { kind: text, routes: [{ channel: one, model: vendor/large-1 }] }
`;
  const catalog = createCatalog(parseConfiguration(text, 'gateway.yaml', {}), {
    random: Math.random,
    loads: NO_LOADS,
  });
  const model = catalog.resolveModel('small');
  const candidate = model && catalog.candidates({ model, protocol })[0];
  if (!candidate) throw new Error('no candidate');
  return candidate;
};

const errorFor = (
  body: unknown,
  {
    status = 400,
    dialect = 'openai',
    protocol = 'responses',
    namesObject = false,
    baseUrl,
  }: {
    status?: number;
    dialect?: Dialect;
    protocol?: Protocol;
    namesObject?: boolean;
    baseUrl?: string;
  } = {},
) =>
  failureError(
    answerFailure(
      { status, headers: {}, body: typeof body === 'string' ? body : JSON.stringify(body) },
      { candidate: candidateOf(protocol, baseUrl), dialect, namesObject, translated: false },
    ),
  );

test('a refusal of an OpenAI-shaped provider keeps its status, type, param and code, and its message cleaned', () => {
  const error = errorFor(
    {
      error: {
        message: "Unsupported value: 'temperature' with vendor/large-1.",
        type: 'invalid_request_error',
        param: 'temperature',
        code: 'unsupported_value',
        internal: 'hidden',
      },
    },
    { status: 422 },
  );
  expect(error.code).toBe('upstream_rejected');
  expect(error.status('openai')).toBe(422);
  expect(error.retry).toBe(false);
  expect(JSON.parse(error.options.relay?.body ?? '')).toEqual({
    error: {
      message: "Unsupported value: 'temperature' with small.",
      type: 'invalid_request_error',
      param: 'temperature',
      code: 'unsupported_value',
    },
  });
});

test('a refusal of an Anthropic provider is relayed to a Messages caller byte for byte', () => {
  const body =
    '{ "type":"error", "error":{"type":"invalid_request_error","message":"prompt is too long: 3 tokens > 2 maximum (vendor/large-1)"},"request_id":"req_1"}';
  const error = errorFor(body, { dialect: 'anthropic', protocol: 'messages', status: 413 });
  expect(error.options.relay).toEqual({ status: 413, body });
});

test("a refusal in the other dialect gives its message only, in a body of the caller's dialect", () => {
  const error = errorFor(
    { type: 'error', error: { type: 'invalid_request_error', message: 'max_tokens: too large' } },
    { protocol: 'messages', dialect: 'openai' },
  );
  expect(error.options.relay).toBe(undefined);
  expect(error.message).toBe('max_tokens: too large');
  expect(error.status('openai')).toBe(400);
});

test.for(['<html>nginx</html>', '', '[]', '{"error":{}}', '{"unexpected":1}'])(
  'a refusal without an error object (%s) still has the shape and the status that the caller expects',
  (body) => {
    const openai = errorFor(body, { status: 418 });
    expect(openai.options.relay?.status).toBe(418);
    expect(JSON.parse(openai.options.relay?.body ?? '').error).toMatchObject({
      message: 'The upstream refused this request (HTTP 418).',
      type: 'invalid_request_error',
      param: null,
      code: null,
    });
    const anthropic = errorFor(body, { status: 418, dialect: 'anthropic', protocol: 'messages' });
    expect(JSON.parse(anthropic.options.relay?.body ?? '')).toMatchObject({
      type: 'error',
      error: { type: 'invalid_request_error' },
    });
  },
);

test.for([
  { error: 'plain text' },
  { message: 'plain text' },
  { detail: 'plain text' },
  { error: { message: 'plain text', code: 400 } },
])('error bodies of smaller servers are read too: %j', (body) => {
  expect(errorFor(body).message).toBe('plain text');
});

/** A provider's message, and the text that must be removed from it. */
const LEAKS: readonly (readonly [message: string, secret: string])[] = [
  [`Incorrect API key provided: ${KEY}.`, KEY],
  ['The header header-secret is wrong', 'header-secret'],
  ['Incorrect API key provided: sk-proj-abc123def456ghi789.', 'sk-proj'],
  ['Incorrect API key provided: sk-abcd***************wxyz.', 'wxyz'],
  ['Rate limit reached in organization org-AbCdEfGhIjKlMnOpQrStUvWx on requests', 'org-'],
  ['Bearer abc.def.ghi is not accepted', 'abc.def'],
  ['Key AIzaSyA1234567890abcdefghijk is bad', 'AIza'],
  ['See https://platform.provider.example/account/keys for help', 'provider.example'],
  ['api.provider.example:443 refused', 'provider.example'],
  ['POST https://api.provider.example/v1/responses?key=1 failed', 'provider.example'],
  ['The model vendor/large-1 is not for you', 'vendor/large-1'],
  ['arn:aws:bedrock:eu-west-1:123456789012:inference-profile/x.y is not for you', '123456789012'],
];

test.for(LEAKS)('of "%s" neither caller nor log gets %s', ([message, secret]) => {
  for (const status of [400, 401, 429, 500]) {
    for (const protocol of ['responses', 'messages'] as const) {
      const error = errorFor({ error: { message, type: 'x' } }, { status, protocol, dialect: 'openai' });
      expect(JSON.stringify(error.serialize())).not.toContain(secret);
      // The log may contain the provider's name and model, but no key.
      if (!/provider|vendor/.test(secret)) expect(String(error.options.cause)).not.toContain(secret);
    }
  }
  const relayed = errorFor({ error: { message, type: 'x' } }, { protocol: 'messages', dialect: 'anthropic' });
  expect(relayed.options.relay?.body).not.toContain(KEY);
});

test("an ARN in an error of Anthropic's shape does not reach a Messages caller", () => {
  const message = 'prompt is too long at arn:aws:bedrock:eu-west-1:123456789012:inference-profile/x.y';
  const body = { type: 'error', error: { type: 'invalid_request_error', message } };
  const { relay } = errorFor(body, { protocol: 'messages', dialect: 'anthropic' }).options;
  expect(JSON.parse(relay?.body ?? '')).toEqual({
    type: 'error',
    error: { type: 'invalid_request_error', message: 'prompt is too long at [removed]' },
  });
});

test("the channel's key is taken out of every member", () => {
  const error = errorFor({ error: { message: 'no', type: KEY, code: `${KEY}!`, param: KEY } });
  expect(`${JSON.stringify(error.serialize())}${error.options.cause}`).not.toContain(KEY);
});

test("a provider's message about the caller's mistake is for the caller alone: it may quote the request", () => {
  const body = { error: { message: "Invalid value: 'my secret plans'.", code: 'invalid_value' } };
  expect(String(errorFor(body).options.cause)).not.toContain('secret plans');
  expect(String(errorFor(body, { status: 500 }).options.cause)).toContain('secret plans');
});

test('an address of a channel inside the network is not shown either', () => {
  const baseUrl = 'http://10.1.2.3:8000/v1';
  const error = errorFor({ error: { message: 'http://10.1.2.3:8000/v1/x failed at 10.1.2.3' } }, { baseUrl });
  expect(error.message).toBe('[upstream] failed at [upstream]');
});

test.for([
  'Failed to download image from https://example.com/cat.png.',
  "Invalid 'input[0].content': expected a user-provided string, see the key-value format",
  'skip-connections and sk-learn are fine words',
])('ordinary words pass unchanged: %s', (message) => {
  expect(errorFor({ error: { message } }).message).toBe(message);
});

test("a 404 for an object is the caller's mistake, a 404 for a model the operator's", () => {
  const body = { error: { message: 'Not found', code: null } };
  expect(errorFor(body, { status: 404 }).code).toBe('upstream_misconfigured');
  const object = errorFor(body, { status: 404, namesObject: true });
  expect(object).toMatchObject({ code: 'upstream_rejected', options: { relay: { status: 404 } } });
});

test("the delay of a rate limit is kept, without the rest of the provider's message", () => {
  const error = errorFor(
    {
      error: {
        message: 'Rate limit reached for vendor/large-1. Please try again in 1.898s.',
        code: 'rate_limit_exceeded',
      },
    },
    { status: 429 },
  );
  expect(error.message).toBe(
    "The upstream's rate limit for this model is reached. Please try again in 1.898s.",
  );
  expect(error.options.retryAfterSeconds).toBe(1.898);
});

test.for([
  [
    'chat',
    { error: { message: "Invalid value for 'max_tokens'.", param: 'max_tokens' } },
    'upstream_rejected',
    ['max_tokens'],
  ],
  [
    'messages',
    { type: 'error', error: { type: 'invalid_request_error', message: 'tools.0.name: too long' } },
    'upstream_rejected',
    ['tools', 0, 'name'],
  ],
  [
    'chat',
    { error: { message: "This model's maximum context length is 8192 tokens.", code: null } },
    'context_length_exceeded',
    undefined,
  ],
  [
    'messages',
    {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'prompt is too long: 3 tokens > 2 maximum' },
    },
    'context_length_exceeded',
    undefined,
  ],
] as const)(
  'a refusal of a translated request is not relayed and names its path (%#)',
  ([protocol, body, code, path]) => {
    const failure = answerFailure(
      { status: 400, headers: {}, body: JSON.stringify(body) },
      {
        candidate: candidateOf(protocol, 'https://api.example.com'),
        dialect: 'openai',
        namesObject: false,
        translated: true,
      },
    );
    const refused = failureError(failure);
    expect(refused.code).toBe(code);
    expect(refused.options.relay).toBe(undefined);
    expect(refused.options.path).toEqual(path);
  },
);

test.for(['constructor', 'toString', '__proto__'])('an error code %s is an unknown one', (word) => {
  const body = { error: { message: 'No.', type: word, code: word } };
  expect(errorFor(body, { status: 400 }).code).toBe('upstream_rejected');
  expect(errorFor(body, { status: 503 }).code).toBe(errorFor({}, { status: 503 }).code);
});

/** llama.cpp's own words, recorded. */
const LLAMA_TOO_LONG = {
  error: {
    code: 400,
    message: 'request (5010 tokens) exceeds the available context size (2048 tokens), try increasing it',
    type: 'exceed_context_size_error',
    n_prompt_tokens: 5010,
    n_ctx: 2048,
  },
};

test.for([
  ['chat', 'openai', 'messages'],
  ['responses', 'openai', 'input'],
] as const)("llama.cpp's %s: an input that is too long has OpenAI's code", ([protocol, dialect, param]) => {
  const error = errorFor(LLAMA_TOO_LONG, { protocol, dialect });
  expect(error).toMatchObject({ code: 'context_length_exceeded', retry: false });
  expect(error.options.relay).toBe(undefined);
  expect(error.options.path).toEqual([param]);
  expect(error.message).toContain('5010 tokens');
});

test("llama.cpp's messages: an input that is too long has Anthropic's words with the numbers", () => {
  const error = errorFor(LLAMA_TOO_LONG, { protocol: 'messages', dialect: 'anthropic' });
  expect(error.options.relay).toBe(undefined);
  expect(error.options.message).toMatchObject({
    anthropic: 'prompt is too long: 5010 tokens > 2048 maximum',
  });
});

test('numbers that are only in members are reported too', () => {
  const body = { error: { ...LLAMA_TOO_LONG.error, message: 'too much' } };
  const error = errorFor(body, { protocol: 'messages', dialect: 'anthropic' });
  expect(error.options.message).toMatchObject({ anthropic: expect.stringContaining('5010 tokens > 2048') });
});

test.for([
  'image input is not supported - hint: if this is unexpected, you may need to provide the mmproj',
  'audio input is not supported - hint: if this is unexpected, you may need to provide the mmproj',
  'Failed to parse tools: Unsupported tool type: {"type":"custom"}',
])('a mistake of the caller that llama.cpp answers with 500 is a 400 that is not repeated: %s', (message) => {
  for (const dialect of ['openai', 'anthropic'] as const) {
    const protocol = dialect === 'openai' ? 'chat' : 'messages';
    const error = errorFor(
      { error: { code: 500, message, type: 'server_error' } },
      { status: 500, dialect, protocol },
    );
    expect(error).toMatchObject({ code: 'upstream_rejected', retry: false, message });
    expect(error.status(dialect)).toBe(400);
  }
});

test('a refusal of a server that has only the Messages protocol gets the shape of that protocol', () => {
  const body = { error: { code: 400, message: 'no such role', type: 'invalid_request_error' } };
  const error = errorFor(body, { protocol: 'messages', dialect: 'anthropic' });
  expect(JSON.parse(error.options.relay?.body ?? '')).toEqual({
    type: 'error',
    error: { type: 'invalid_request_error', message: 'no such role' },
  });
});
