import { ERRORS, type ErrorCode } from '@gateway/contracts/error-codes';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { expect, test } from 'vitest';
import { errorResponse, openaiPath, shownError, toGatewayError } from './error-response.ts';

const codes = Object.keys(ERRORS).filter((code): code is ErrorCode => code in ERRORS);

test.for(codes)('%s has a whole body in both dialects', (code) => {
  const error = new GatewayError(code, { message: 'What to do.', path: ['input', 0, 'content'] });
  const openai = errorResponse(error, 'openai', 'req_1');
  expect(JSON.parse(openai.body)).toEqual({
    error: {
      message: 'What to do.',
      type: ERRORS[code].openai.type,
      param: 'input[0].content',
      code: ERRORS[code].openai.code,
    },
  });
  const anthropic = errorResponse(error, 'anthropic', 'req_1');
  expect(JSON.parse(anthropic.body)).toEqual({
    type: 'error',
    error: expect.objectContaining({
      type: ERRORS[code].anthropic.type,
      message: 'input.0.content: What to do.',
    }),
    request_id: 'req_1',
  });
  for (const { headers } of [openai, anthropic]) {
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'x-request-id': 'req_1',
      'request-id': 'req_1',
      'x-should-retry': String(ERRORS[code].retry),
      'x-gateway-refused-by': 'gateway',
    });
  }
});

test('a spent budget is reported as the spend limit that Claude Code shows at once', () => {
  const error = new GatewayError('budget_exhausted', 'Spent.');
  const { body, headers } = errorResponse(error, 'anthropic', 'req_1');
  expect(JSON.parse(body).error.details).toEqual({ error_code: 'enforced_spend_limit_reached' });
  expect(headers).toMatchObject({ 'x-should-retry': 'false' });
  expect(headers).not.toHaveProperty('retry-after');
});

test('an error that is not meant for callers reveals nothing', () => {
  const { status, body } = errorResponse(new Error('redis://:password@host is down'), 'openai', 'req_1');
  expect(status).toBe(500);
  expect(body).not.toContain('password');
});

test.for([
  [
    '{"error":{"code":"content_policy_violation","message":"No.","param":null,"type":"image_generation_user_error"}}',
    { message: 'No.', type: 'image_generation_user_error', param: null, code: 'content_policy_violation' },
  ],
  [
    '{"error":{"message":"No.","type":"x","code":400}}',
    { message: 'No.', type: 'x', param: null, code: '400' },
  ],
  ['{"type":"error","error":{"type":"x","message":"No."}}', undefined],
  ['<html>', undefined],
] as const)('the error object of %s is what its caller sees', ([body, shown]) => {
  const relay = { status: 400, body };
  const own = { path: ['prompt'], source: 'upstream' as const };
  const error = new GatewayError('upstream_rejected', { message: 'Refused.', ...own, relay });
  const unrelayed = new GatewayError('upstream_rejected', { message: 'Refused.', ...own });
  expect(shownError(error)).toEqual(shown ?? shownError(unrelayed));
});

test("an upstream's own body is relayed byte for byte with its status", () => {
  const body = '{"type":"error",  "error":{"type":"invalid_request_error","message":"prompt is too long"}}';
  const error = new GatewayError('upstream_rejected', {
    message: 'x',
    source: 'upstream',
    relay: { status: 413, body },
  });
  expect(errorResponse(error, 'anthropic', 'req_1')).toMatchObject({
    status: 413,
    body,
    headers: { 'x-gateway-refused-by': 'upstream' },
  });
});

test('a wait is given in whole seconds, never too few', () => {
  const error = new GatewayError('rate_limited', { message: 'Slow down.', retryAfterSeconds: 1.2 });
  expect(errorResponse(error, 'openai', 'req_1').headers['retry-after']).toBe('2');
});

test('an error is the same after it has crossed a process', () => {
  const error = new GatewayError('upstream_rate_limited', {
    message: { openai: 'a', anthropic: 'b' },
    path: ['model'],
    source: 'upstream',
    retryAfterSeconds: 3,
    cause: new Error('stays here'),
  });
  const again = GatewayError.deserialize(JSON.parse(JSON.stringify(error.serialize())));
  expect(errorResponse(again, 'openai', 'r')).toEqual(errorResponse(error, 'openai', 'r'));
  expect(errorResponse(again, 'anthropic', 'r')).toEqual(errorResponse(error, 'anthropic', 'r'));
  expect(again.options.cause).toBeUndefined();
});

test.for([
  [['model'], 'model'],
  [['input', 0, 'content', 1, 'image_url'], 'input[0].content[1].image_url'],
  [['tools', 2, 'name'], 'tools[2].name'],
  [[], ''],
] as const)('%j is written %s', ([path, text]) => {
  expect(openaiPath(path)).toBe(text);
});

test('a request whose levels overflow the stack is a mistake of the request', () => {
  const overflow = (): number => 1 + overflow();
  let thrown: unknown;
  try {
    overflow();
  } catch (error) {
    thrown = error;
  }
  expect(toGatewayError(thrown)).toMatchObject({ code: 'invalid_json', options: { cause: thrown } });
  expect(toGatewayError(new RangeError('Invalid array length')).code).toBe('internal');
});
