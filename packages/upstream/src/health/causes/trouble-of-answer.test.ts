import { expect, test } from 'vitest';
import type { Candidate } from '../../candidate.ts';
import { parseConfiguration } from '../../configuration/parse-configuration.ts';
import { answerFailure } from '../../failures/answer-failure.ts';
import { createUpstream } from '../../upstream.ts';
import type { Cause } from './causes.ts';

const file = `
channels: { one: { provider: openai, baseUrl: "http://127.0.0.1:1/v1", apiKey: sk-0123456789 } }
models:
  small: { kind: text, routes: [{ channel: one, model: large }] }
  "any-*": { kind: text, routes: [{ channel: one }] }
`;
const upstream = createUpstream({ configuration: parseConfiguration(file, 'gateway.yaml', {}) });

const candidateOf = (name: string): Candidate => {
  const model = upstream.resolveModel(name);
  const [first] = model === null ? [] : upstream.candidates({ model, protocol: 'responses' });
  if (first === undefined) throw new Error(`no candidate for ${name}`);
  return first;
};

interface Given {
  readonly error?: Readonly<Record<string, unknown>>;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly model?: string;
  readonly namesObject?: boolean;
}

const troubleOf = (
  status: number,
  { error, body, headers = {}, model = 'small', namesObject = false }: Given = {},
) =>
  answerFailure(
    { status, headers, body: body ?? JSON.stringify({ error: { message: 'No.', ...error } }) },
    { candidate: candidateOf(model), dialect: 'openai', namesObject, translated: false },
  ).trouble;

const COUNTS: readonly [what: string, cause: Cause, status: number, given?: Given][] = [
  ['a rate limit', 'rate-limited', 429],
  [
    'a rate limit below which the request fits',
    'rate-limited',
    429,
    { error: { message: 'Limit 30000, Used 29000, Requested 2000.' } },
  ],
  ['a used up quota', 'quota-exhausted', 429, { error: { code: 'insufficient_quota' } }],
  [
    'an account without credit',
    'quota-exhausted',
    400,
    { error: { message: 'Your credit balance is too low.' } },
  ],
  ['an unpaid account', 'quota-exhausted', 402],
  ['a refused key', 'credentials', 401],
  ['a deactivated account', 'credentials', 403, { error: { code: 'account_deactivated' } }],
  [
    'a model that the channel lacks',
    'model-missing',
    404,
    { error: { code: 'model_not_found', message: 'The model large does not exist.' } },
  ],
  ['an overload', 'overloaded', 529],
  ['an overload by its code', 'overloaded', 503, { error: { code: 'server_is_overloaded' } }],
  ['a server that is not there', 'failing', 503],
  ['an internal error', 'failing', 500],
  ['a page of HTML', 'failing', 502, { body: '<html>Bad gateway</html>' }],
  ['a proxy that waited too long', 'slow', 504],
];
test.for(COUNTS)('%s counts as %s', ([, cause, status, given]) => {
  expect(troubleOf(status, given)).toMatchObject({ cause });
});

const OF_CALLERS: readonly [what: string, status: number, given?: Given][] = [
  ['a refused body', 400],
  ['an object that does not exist', 404, { namesObject: true, error: { message: 'No such response.' } }],
  ['an id that does not exist', 404, { error: { message: "Vector store 'vs_123456' not found." } }],
  ['a path that does not exist', 404, { body: 'Not Found' }],
  [
    'a value that the provider quotes',
    400,
    { error: { message: "Invalid value: 'Your credit balance is too low.' Supported values are: 'auto'." } },
  ],
  [
    'a model name that sounds like a refused identity',
    404,
    {
      model: 'any-one lacks the required data action',
      error: { message: 'The model any-one lacks the required data action does not exist.' },
    },
  ],
  ['a conflict', 409],
  ['an upload that is too large', 413],
  ['a body that cannot be processed', 422],
  ['a locked resource', 423],
  ['a tool of the caller that fails', 424],
  ['an input that is too long', 400, { error: { code: 'context_length_exceeded' } }],
  ['a forbidden content', 403, { error: { message: 'Your input was flagged.' } }],
  ['a blocked page of HTML', 403, { body: '<html>Blocked</html>' }],
  ['a key of one of its tools', 401, { error: { param: 'tools[0].authorization' } }],
  ['a request that took too long to arrive', 408],
  ['a method or feature that is not there', 501],
  [
    'a request that alone exceeds the rate limit',
    429,
    { error: { message: 'Limit 30000, Requested 50000.' } },
  ],
  ['a request too large for the rate limit', 429, { error: { message: 'Request too large for gpt-5.' } }],
  [
    'an answer too long for the credit',
    402,
    { error: { message: 'This request requires more credits, or fewer max_tokens.' } },
  ],
  ['content that the model cannot take', 500, { error: { message: 'image input is not supported' } }],
  [
    'a model name of its own',
    404,
    {
      model: 'any-thing',
      error: { code: 'model_not_found', message: 'The model any-thing does not exist.' },
    },
  ],
  [
    'a model in one of its tools',
    400,
    { error: { code: 'model_not_found', param: 'tools[0].model', message: 'No large.' } },
  ],
];
test.for(OF_CALLERS)('%s does not count, because a caller can bring it about', ([, status, given]) => {
  expect(troubleOf(status, given)).toBeUndefined();
});

test.for<[string, Readonly<Record<string, string>>, number | null]>([
  ['retry-after-ms', { 'retry-after-ms': '1250' }, 1250],
  ['retry-after', { 'retry-after': '7' }, 7000],
  ['retry-after before the reset', { 'retry-after': '7', 'x-ratelimit-reset-requests': '1s' }, 7000],
  ['the reset of the only limit', { 'x-ratelimit-reset-requests': '6m0s' }, 360_000],
  [
    'the reset of the limit that is used up',
    {
      'x-ratelimit-remaining-requests': '5',
      'x-ratelimit-reset-requests': '120ms',
      'x-ratelimit-remaining-tokens': '0',
      'x-ratelimit-reset-tokens': '9s',
    },
    9000,
  ],
  ['seconds without a unit', { 'x-ratelimit-reset-requests': '30' }, 30_000],
  ['no header', {}, null],
  ['a header that cannot be read', { 'x-ratelimit-reset-requests': 'soon' }, null],
])('a rate limit rests for the time in %s', ([, headers, waitMs]) => {
  expect(troubleOf(429, { headers })).toEqual({ cause: 'rate-limited', waitMs });
});

test.for<[string, (at: Date) => Readonly<Record<string, string>>]>([
  [
    'of Anthropic',
    (at) => ({
      'anthropic-ratelimit-input-tokens-remaining': '0',
      'anthropic-ratelimit-input-tokens-reset': at.toISOString(),
    }),
  ],
  ['in milliseconds since 1970', (at) => ({ 'x-ratelimit-reset': String(at.getTime()) })],
])('a rate limit rests until the time of reset %s', ([, headersOf]) => {
  const before = Date.now();
  const waitMs = troubleOf(429, { headers: headersOf(new Date(before + 3_600_000)) })?.waitMs ?? 0;
  const tookMs = Date.now() - before;
  expect(waitMs).toBeLessThanOrEqual(3_600_000);
  expect(waitMs).toBeGreaterThanOrEqual(3_600_000 - tookMs);
});

test('an overloaded provider rests for as long as it requested', () => {
  expect(troubleOf(529, { headers: { 'retry-after': '3' } })).toEqual({ cause: 'overloaded', waitMs: 3000 });
});
