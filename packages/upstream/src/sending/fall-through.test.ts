import { createServer } from 'node:net';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { expect, test } from 'vitest';
import { error, startProvider, startUpstream } from '../provider-for-tests.ts';
import type { Attempt } from '../replies/reply.ts';
import { bodyOf, MAX_BYTES, refusal, sendRequest } from './send-for-tests.ts';

/** An address where nothing listens. */
const deadOrigin = async (): Promise<string> => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
};

const aws = (code: string, message: string) => ({ __type: `com.amazon.coral.service#${code}`, message });

/** Whatever AWS says is wrong with an account or a model is no caller's mistake. */
const AWS_ANSWERS = [
  [
    400,
    aws('ValidationException', "The model doesn't support counting tokens."),
    'upstream_misconfigured',
    true,
  ],
  [429, aws('ThrottlingException', 'Too many tokens, please wait.'), 'upstream_rate_limited', true],
  [
    400,
    aws('ThrottlingException', 'Too many input tokens: prompt is too long'),
    'upstream_rate_limited',
    true,
  ],
  [400, aws('ServiceQuotaExceededException', 'Over your quota'), 'upstream_quota_exhausted', true],
  [429, aws('ModelNotReadyException', 'Not ready'), 'upstream_overloaded', true],
  [408, aws('ModelTimeoutException', 'Took too long'), 'upstream_timeout', true],
  [424, aws('ModelErrorException', 'The model failed'), 'upstream_failed', true],
  [
    403,
    aws('AccessDeniedException', 'User: arn:aws:iam::123456789012:user/x may not'),
    'upstream_misconfigured',
    true,
  ],
  [404, aws('ResourceNotFoundException', 'Could not resolve the profile'), 'upstream_misconfigured', true],
  [
    400,
    aws('ValidationException', "Invocation of model ID x.y with on-demand throughput isn't supported."),
    'upstream_misconfigured',
    true,
  ],
  [
    400,
    aws('ValidationException', 'The provided model identifier is invalid.'),
    'upstream_misconfigured',
    true,
  ],
  [
    400,
    aws('ValidationException', 'Input is too long for requested model.'),
    'context_length_exceeded',
    false,
  ],
  [400, aws('ValidationException', 'Malformed input request'), 'upstream_rejected', false],
  [
    403,
    aws('AccessDeniedException', 'Your request did not allow prompt caching.'),
    'upstream_rejected',
    false,
  ],
] as const;

/** An answer of the first channel, its error code without a second one, and whether the second one is tried. */
const ANSWERS = [
  [400, { error: { message: 'bad' } }, 'upstream_rejected', false],
  [409, { error: { message: 'bad' } }, 'upstream_rejected', false],
  [413, { error: { message: 'bad' } }, 'upstream_rejected', false],
  [422, { error: { message: 'bad' } }, 'upstream_rejected', false],
  [418, 'no error object', 'upstream_rejected', false],
  [401, { error: { message: 'bad', code: 'invalid_api_key' } }, 'upstream_misconfigured', true],
  [403, { error: { message: 'bad' } }, 'upstream_misconfigured', true],
  [404, { error: { message: 'bad' } }, 'upstream_misconfigured', true],
  [400, { error: { message: 'bad', code: 'model_not_found' } }, 'upstream_misconfigured', true],
  [302, {}, 'upstream_misconfigured', true],
  [402, {}, 'upstream_quota_exhausted', true],
  [429, { error: { message: 'slow', code: 'rate_limit_exceeded' } }, 'upstream_rate_limited', true],
  [429, { error: { message: 'pay', code: 'insufficient_quota' } }, 'upstream_quota_exhausted', true],
  [
    400,
    { error: { type: 'x', message: 'Your credit balance is too low to go on' } },
    'upstream_quota_exhausted',
    true,
  ],
  [500, { error: { message: 'oops' } }, 'upstream_failed', true],
  [502, '<html>', 'upstream_failed', true],
  [503, {}, 'upstream_overloaded', true],
  [529, { type: 'error', error: { type: 'overloaded_error', message: 'x' } }, 'upstream_overloaded', true],
  [504, {}, 'upstream_timeout', true],
  ...AWS_ANSWERS,
] as const;

test.for(ANSWERS)(
  'an answer of %d %j means %s; another channel is tried: %s',
  async ([status, body, code, elsewhere]) => {
    for (const work of ['free', 'paid'] as const) {
      const first = await startProvider(error(status, body));
      const second = await startProvider();
      const alone = await startUpstream({ first: { origin: first.origin } });
      const thrown = await refusal(alone, { work });
      expect(thrown).toMatchObject({ code, source: 'upstream' });
      expect(thrown.message).not.toContain('[object');

      const pair = await startUpstream({
        first: { origin: first.origin },
        second: { origin: second.origin },
      });
      if (elsewhere) {
        const reply = await sendRequest(pair, { work });
        expect(reply.attempts.map(({ channel }) => channel)).toEqual(['first', 'second']);
        await reply.bytes(MAX_BYTES);
      } else expect((await refusal(pair, { work })).code).toBe(code);
      expect(second.requests.length).toBe(elsewhere ? 1 : 0);
    }
  },
);

test('a channel that cannot be reached is skipped, also for paid work', async () => {
  const provider = await startProvider();
  const dead = await deadOrigin();
  const seen: Attempt[] = [];
  const pair = await startUpstream({ dead: { origin: dead }, alive: { origin: provider.origin } }, (one) =>
    seen.push(one),
  );
  await (await sendRequest(pair, { work: 'paid' })).bytes(MAX_BYTES);
  expect(seen.map(({ channel, outcome }) => `${channel} ${outcome}`)).toEqual([
    'dead unreachable',
    'alive ok',
  ]);
  const alone = await startUpstream({ dead: { origin: dead } });
  expect(await refusal(alone)).toMatchObject({ code: 'upstream_unreachable', retry: true });
  const nameless = await startUpstream({ dead: { origin: 'http://no-such-host.invalid' } });
  expect(await refusal(nameless)).toMatchObject({ code: 'upstream_unreachable' });
});

test('when every channel fails, the caller gets the failure that is worth a retry', async () => {
  const limited = await startProvider(error(429, { error: { message: 'x' } }, { 'retry-after': '7' }));
  const broken = await startProvider(error(401, {}));
  const upstream = await startUpstream({
    limited: { origin: limited.origin },
    broken: { origin: broken.origin },
  });
  expect(await refusal(upstream)).toMatchObject({
    code: 'upstream_rate_limited',
    message: "The upstream's rate limit for this model is reached. Please try again in 7s.",
    options: { retryAfterSeconds: 7 },
  });
});

test('a connection that breaks before the first output falls through for free work only', async () => {
  const first = await startProvider((response) => response.destroy());
  const second = await startProvider();
  const upstream = await startUpstream({
    first: { origin: first.origin },
    second: { origin: second.origin },
  });
  await (await sendRequest(upstream)).bytes(MAX_BYTES);
  expect(second.requests.length).toBe(1);
  const thrown = await refusal(upstream, { work: 'paid' });
  expect(thrown).toMatchObject({ code: 'outcome_unknown', retry: false });
  expect(second.requests.length).toBe(1);
});

test('headers without a first byte are not an output: another channel is tried', async () => {
  const first = await startProvider((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.flushHeaders();
    setImmediate(() => response.destroy());
  });
  const second = await startProvider();
  const upstream = await startUpstream({
    first: { origin: first.origin },
    second: { origin: second.origin },
  });
  expect(await bodyOf(await sendRequest(upstream, { streamed: true }))).toEqual({ ok: true });
});

test('a connection that breaks after the first output is not repeated; the reply ends in an error', async () => {
  const first = await startProvider((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: 1\n\n', () => response.destroy());
  });
  const second = await startProvider();
  const upstream = await startUpstream({
    first: { origin: first.origin },
    second: { origin: second.origin },
  });
  const reply = await sendRequest(upstream, { streamed: true });
  const chunks: string[] = [];
  const read = async (): Promise<void> => {
    for await (const chunk of reply.body) chunks.push(chunk.toString());
  };
  await expect(read()).rejects.toMatchObject({ code: 'upstream_failed', source: 'upstream' });
  expect(chunks).toEqual(['data: 1\n\n']);
  expect(second.requests.length).toBe(0);
});

test('a body shorter than it declared is an error and not an end', async () => {
  const provider = await startProvider((response) => {
    response.writeHead(200, { 'content-type': 'audio/mpeg', 'content-length': '100' });
    response.write('short', () => response.destroy());
  });
  const upstream = await startUpstream({ one: { origin: provider.origin } });
  const reply = await sendRequest(upstream, { work: 'paid' });
  await expect(reply.bytes(MAX_BYTES)).rejects.toMatchObject({ code: 'outcome_unknown', retry: false });
});

test('a channel that cannot take the request is skipped; its reason counts only if no other was tried', async () => {
  const first = await startProvider();
  const second = await startProvider(error(503, {}));
  const pair = await startUpstream({
    first: { origin: first.origin },
    second: { origin: second.origin },
  });
  const reason = new GatewayError('unsupported_parameter', 'not here');
  const refused = await refusal(pair, { request: () => reason });
  expect(refused).toBe(reason);
  const failed = await refusal(pair, {
    request: ({ channel }) =>
      channel.name === 'first' ? reason : { operation: 'responses', method: 'POST', headers: {}, body: '{}' },
  });
  expect(failed).toMatchObject({ code: 'upstream_overloaded' });
});
