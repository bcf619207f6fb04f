import Anthropic from '@anthropic-ai/sdk';
import OpenAI, { toFile } from 'openai';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { startSimulator } from '../start-simulator.ts';

/** Batches at the simulated provider, through the official clients. */

const simulator = await startSimulator();
const openai = new OpenAI({ apiKey: 'k', baseURL: simulator.baseUrl, maxRetries: 0 });
const anthropic = new Anthropic({ apiKey: 'k', baseURL: simulator.url, maxRetries: 0 });
beforeEach(() => simulator.reset());
afterAll(() => simulator.close());

const CHAT = '/v1/chat/completions';
const lineOf = (customId: string, more: object = {}, body: object = {}) => ({
  custom_id: customId,
  method: 'POST',
  url: CHAT,
  body: { model: 'm', messages: [{ role: 'user', content: customId }], ...body },
  ...more,
});
const upload = async (lines: readonly object[]) =>
  openai.files.create({
    file: await toFile(Buffer.from(lines.map((line) => JSON.stringify(line)).join('\n')), 'lines.jsonl'),
    purpose: 'batch',
    expires_after: { anchor: 'created_at', seconds: 3600 },
  });
const create = async (lines: readonly object[], metadata?: Record<string, string>) =>
  openai.batches.create({
    input_file_id: (await upload(lines)).id,
    endpoint: CHAT,
    completion_window: '24h',
    ...(metadata && { metadata }),
  });
/** A batch gets on whenever it is looked at. */
const end = async (id: string) => {
  for (;;) {
    const batch = await openai.batches.retrieve(id);
    if (['completed', 'failed', 'expired', 'cancelled'].includes(batch.status)) return batch;
  }
};
const linesIn = async (id: string | null | undefined) =>
  (await (await openai.files.content(id ?? '')).text())
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

test('a file of lines is uploaded, run and answered in two files, in another order', async () => {
  const { id } = await create([lineOf('a'), lineOf('b', {}, { max_tokens: 'no' }), lineOf('c')], {
    name: 'x',
  });
  const batch = await end(id);
  expect(batch).toMatchObject({ status: 'completed', metadata: { name: 'x' }, errors: null });
  expect(batch.request_counts).toEqual({ total: 3, completed: 2, failed: 1 });
  const lines = await linesIn(batch.output_file_id);
  expect(lines).toMatchObject([
    { custom_id: 'c', response: { status_code: 200, body: { object: 'chat.completion' } }, error: null },
    { custom_id: 'a', response: { status_code: 200 } },
  ]);
  expect(await linesIn(batch.error_file_id)).toMatchObject([
    { custom_id: 'b', response: { status_code: 400 } },
  ]);
  expect((await openai.batches.list()).data.map((one) => one.id)).toEqual([id]);
  expect((await openai.files.list({ purpose: 'batch' })).data).toHaveLength(1);
  await openai.files.delete(batch.output_file_id ?? '');
  await expect(openai.files.content(batch.output_file_id ?? '')).rejects.toMatchObject({ status: 404 });
});

test.each([
  ['a line for another endpoint', [lineOf('a', { url: '/v1/responses' })], 'mismatched_url'],
  ['two lines of one name', [lineOf('a'), lineOf('a')], 'duplicate_custom_id'],
  ['two models', [lineOf('a'), lineOf('b', {}, { model: 'n' })], 'mismatched_model'],
  ['a stream', [lineOf('a', {}, { stream: true })], 'invalid_value'],
  ['a member that lines do not have', [lineOf('a', { id: 1 })], 'unknown_parameter'],
  ['no line', [], 'empty_file'],
])('a file with %s fails as a whole', async (_what, lines, code) => {
  const batch = await end((await create(lines)).id);
  expect(batch).toMatchObject({ status: 'failed', errors: { data: [{ code }] }, output_file_id: null });
});

test('a batch of a file that is none, for an endpoint without batches, or with other members is refused', async () => {
  const { id } = await upload([lineOf('a')]);
  const given = { input_file_id: id, endpoint: CHAT, completion_window: '24h' } as const;
  const others = [
    { ...given, input_file_id: 'file-none' },
    { ...given, endpoint: '/v1/audio/speech' },
    { ...given, completion_window: '1h' },
    { ...given, model: 'm' },
    { ...given, metadata: { n: 1 } },
  ];
  for (const body of others)
    await expect(openai.post('/batches', { body })).rejects.toMatchObject({ status: 400 });
});

test('a batch that is held is cancelled with what was run; one that has ended cannot be', async () => {
  simulator.batches.isHeld = true;
  simulator.batches.maxRun = 1;
  const { id } = await create([lineOf('a'), lineOf('b')]);
  await openai.batches.retrieve(id);
  expect((await openai.batches.retrieve(id)).status).toBe('in_progress');
  expect((await openai.batches.cancel(id)).status).toBe('cancelling');
  const batch = await end(id);
  expect(batch).toMatchObject({ status: 'cancelled', error_file_id: null });
  expect(await linesIn(batch.output_file_id)).toMatchObject([{ custom_id: 'a' }]);
  await expect(openai.batches.cancel(id)).rejects.toMatchObject({ status: 409 });
});

const requestOf = (customId: string, params: object = {}) => ({
  custom_id: customId,
  params: {
    model: 'm',
    max_tokens: 10,
    messages: [{ role: 'user' as const, content: customId }],
    ...params,
  },
});

test('messages are answered one by one, and each tells what became of it', async () => {
  simulator.batches.maxRun = 2;
  const requests = [requestOf('a'), requestOf('b', { messages: [] }), requestOf('c')];
  const made = await anthropic.messages.batches.create({ requests });
  expect(made).toMatchObject({
    processing_status: 'in_progress',
    request_counts: { processing: 3 },
    results_url: null,
  });
  await expect(
    fetch(`${simulator.baseUrl}/messages/batches/${made.id}/results`, { headers: { 'x-api-key': 'k' } }),
  ).resolves.toMatchObject({ status: 404 });
  const batch = await anthropic.messages.batches.retrieve(made.id);
  expect(batch).toMatchObject({
    processing_status: 'ended',
    request_counts: { processing: 0, succeeded: 1, errored: 1, canceled: 0, expired: 1 },
  });
  const results = [];
  for await (const result of await anthropic.messages.batches.results(made.id)) results.push(result);
  expect(results).toMatchObject([
    { custom_id: 'c', result: { type: 'expired' } },
    { custom_id: 'b', result: { type: 'errored', error: { error: { type: 'invalid_request_error' } } } },
    { custom_id: 'a', result: { type: 'succeeded', message: { type: 'message' } } },
  ]);
  expect((await anthropic.messages.batches.list()).data).toHaveLength(1);
  await anthropic.messages.batches.delete(made.id);
  expect((await anthropic.messages.batches.list()).data).toEqual([]);
});

test('batches of messages that are not in their form are refused', async () => {
  const refused = [
    [],
    [requestOf('a b')],
    [requestOf('a'), requestOf('a')],
    [requestOf('a', { stream: true })],
    [{ ...requestOf('a'), url: '/v1/messages' }],
  ];
  for (const requests of refused)
    await expect(anthropic.messages.batches.create({ requests })).rejects.toMatchObject({ status: 400 });
});
