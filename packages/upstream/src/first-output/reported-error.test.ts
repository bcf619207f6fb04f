import { expect, test } from 'vitest';
import { disguised, reportsFailure } from './reported-error.ts';

/** What servers are seen to send with a 200, and the status that it would have had. */
test.for([
  [{ id: 'gen-1', choices: null, error: { message: 'x', code: 502 } }, 502],
  [{ object: 'error', message: 'x', type: 'BadRequestError', param: null, code: 400 }, 400],
  [{ id: 'a', choices: [{ error: { code: 429, message: 'x' }, message: { content: '' } }] }, 429],
  [{ id: 'a', choices: [{ message: { content: 'Ha' }, finish_reason: 'error' }] }, 502],
  [{ id: 'a', choices: [{ message: { content: 'Ha' }, finish_reason: 'network_error' }] }, 502],
  [{ error: 'model is loading' }, 502],
  [{ error: 'busy', code: 503 }, 503],
  [{ message: 'Internal server error' }, 502],
  [{ error: true, message: 'x' }, 502],
  [{ message: null, msg: 'x', status: 'error' }, 502],
  [{ error: { message: 'x', type: 'engine_overloaded_error' } }, 503],
  [{ error: { message: 'x', type: 'exceeded_current_quota_error' } }, 429],
  [{ code: 'ThrottlingException', message: 'x' }, 429],
  [{ Output: { __type: 'com.amazon.coral.service#UnknownOperationException' }, Version: '1.0' }, 404],
  [{ detail: 'Internal Server Error' }, 502],
  [{ detail: [{ msg: 'Field required', loc: ['body'] }], status_code: 422 }, 502],
  [{ code: 503, message: 'x', data: null }, 503],
  [{ code: 'Throttling', message: 'x' }, 429],
  [{ base_resp: { status_code: 1008, status_msg: 'insufficient balance' }, choices: null }, 402],
  [{ success: false, errors: [{ code: 7003, message: 'x' }], result: null }, 502],
  [{ success: false, msg: 'x', code: 500 }, 500],
  [{ type: 'error', error: { type: 'overloaded_error', message: 'x' } }, 529],
  [{ id: 'resp_1', status: 'failed', output: [], error: { code: 'rate_limit_exceeded', message: 'x' } }, 429],
  [{ id: 'resp_1', status: 'failed', output: [], error: null }, 502],
  [{ error: { code: 429, message: 'x', status: 'RESOURCE_EXHAUSTED' } }, 429],
] as const)('%j is an error of status %d', ([body, status]) => {
  expect(reportsFailure(body)).toBe(true);
  expect(disguised(JSON.stringify(body)).status).toBe(status);
});

test.for([
  { id: 'a', choices: [{ message: { content: 'Ha' }, finish_reason: 'stop' }], error: null },
  {
    id: 'a',
    choices: [{ message: { content: 'Ha' }, finish_reason: 'stop' }],
    error: { code: 0, message: '' },
  },
  { code: 0, message: 'success', choices: [{ message: { content: 'Ha' } }] },
  { base_resp: { status_code: 0, status_msg: '' }, choices: [{ message: { content: 'Ha' } }] },
  { success: true, code: 200, msg: 'ok', choices: [] },
  { id: 'resp_1', status: 'incomplete', output: [], error: null },
  { id: 'resp_1', status: 'completed', output: [{ type: 'web_search_call', status: 'failed' }] },
  { type: 'message', id: 'msg_1', content: [], stop_reason: 'max_tokens' },
  { id: 'x_1', extra: 1 },
  { input_tokens: 5 },
  { type: 'brand_new', message: 'x' },
  { error: true, delta: { text: 'x' } },
  { id: 'x_1', message: 'x' },
  [],
  'error',
])('%j is no error', (body) => {
  expect(reportsFailure(body)).toBe(false);
});
