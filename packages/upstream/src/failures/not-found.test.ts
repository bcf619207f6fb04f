import { expect, test } from 'vitest';
import { error, startProvider, startUpstream } from '../provider-for-tests.ts';
import { bodyOf, refusal, sendRequest } from '../sending/send-for-tests.ts';
import { notFoundFault } from './not-found.ts';
import { readProviderError } from './provider-error.ts';

const openai = (message: string, more: object = {}) => ({
  error: { message, type: 'invalid_request_error', param: null, code: null, ...more },
});
const anthropic = (message: string, more: object = {}) => ({
  type: 'error',
  error: { type: 'not_found_error', message, ...more },
  request_id: 'req_1',
});

/** What providers answer to an unknown model or path. */
const OF_CHANNEL: readonly unknown[] = [
  openai('The model `x` does not exist or you do not have access to it.', {
    param: 'model',
    code: 'model_not_found',
  }),
  openai('The requested model does not exist.', { code: 'model_not_found' }),
  openai('Invalid URL (POST /v1/responses)'),
  { error: { code: 'DeploymentNotFound', message: 'The API deployment for this resource does not exist.' } },
  { error: { code: '404', message: 'Resource not found' } },
  anthropic('model: claude-nope'),
  anthropic('Not Found'),
  {
    object: 'error',
    message: 'The model `x` does not exist.',
    type: 'NotFoundError',
    param: null,
    code: 404,
  },
  { error: { message: 'The model `x` does not exist.', type: 'NotFoundError', param: 'model', code: 404 } },
  { error: { message: 'model "x" not found, try pulling it first', type: 'api_error' } },
  { error: "model 'x' not found" },
  { error: { message: 'File Not Found', type: 'not_found_error', code: 404 } },
  { error: { code: 404, message: 'models/x is not found for API version v1beta', status: 'NOT_FOUND' } },
  { error: { message: 'No endpoints found for x.', code: 404 } },
  { error: { message: 'Unknown request URL: POST /openai/v1/x', code: 'unknown_url' } },
  { message: 'no Route matched with those values' },
  { error: 'Unexpected endpoint or method. (POST /v1/responses)' },
  { detail: 'Not Found' },
  { error: { message: 'our-own-model-7 not found' } },
  { error: { message: 'nothing here' } },
  '<html><h1>404 Not Found</h1></html>',
  '404 page not found',
  '',
];

/** What they answer to an unknown id of the caller. */
const OF_CALLER: readonly unknown[] = [
  openai("Vector store with id 'vs_123' not found.", { param: 'tools' }),
  openai("Vector store with id 'vs_123' not found."),
  openai('No such File object: file-123', { param: 'id' }),
  openai('Files [file-123] were not found'),
  openai("Item with id 'rs_123' not found. Items are not persisted when `store` is set to false.", {
    param: 'input',
  }),
  openai("Conversation with id 'conv_123' not found."),
  openai("Response with id 'resp_123' not found.", { code: 'response_not_found' }),
  openai('Prompt not found.'),
  openai("Container with id 'cntr_123' not found."),
  anthropic('File not found: file_011CN'),
  anthropic('Container container_011 not found'),
  anthropic('The thread is unknown.', { details: { error_code: 'thread_not_found' } }),
  { error: { message: 'zz-9a8b7c6d is unknown' } },
];

const textOf = (body: unknown): string => (typeof body === 'string' ? body : JSON.stringify(body));
const faultOf = (body: unknown) => notFoundFault(readProviderError(textOf(body)), 'our-own-model-7');

test.for(OF_CHANNEL)('an unknown model or path is the fault of the channel: %j', (body) => {
  expect(faultOf(body)).toBe('channel');
});

test.for(OF_CALLER)("an unknown object is the caller's: %j", (body) => {
  expect(faultOf(body)).toBe('caller');
});

test('a 404 for an object of the caller reaches the caller unchanged, and no other channel is tried', async () => {
  const body = openai("Vector store with id 'vs_123' not found.", { param: 'tools' });
  const first = await startProvider(error(404, body));
  const second = await startProvider();
  const pair = await startUpstream({ first: { origin: first.origin }, second: { origin: second.origin } });
  const thrown = await refusal(pair);
  expect(thrown).toMatchObject({ code: 'object_not_found', retry: false, source: 'upstream' });
  expect(thrown.options.relay?.status).toBe(404);
  expect(JSON.parse(thrown.options.relay?.body ?? '')).toEqual(body);
  expect(second.requests).toEqual([]);
  expect(String(thrown.options.cause)).not.toContain('vs_123');
});

test('after an unknown model the next channel is tried', async () => {
  const first = await startProvider(error(404, openai('The model `x` does not exist.', { param: 'model' })));
  const second = await startProvider();
  const pair = await startUpstream({ first: { origin: first.origin }, second: { origin: second.origin } });
  await bodyOf(await sendRequest(pair));
  expect(second.requests.length).toBe(1);
});
