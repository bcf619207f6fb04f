import Anthropic from '@anthropic-ai/sdk';
import { MessageBatch } from '@gateway/contracts/anthropic/message-batches';
import { UsageRecord } from '@gateway/contracts/usage/usage-record';
import { redisNames } from '@gateway/metering/redis-names';
import { createGate } from '@gateway/simulator/gate';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { waitFor } from '@gateway/testkit/wait-for';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { jobIdOfBatch } from '../../batches/batch-id.ts';
import { startText, type TextUnderTest } from '../../testing/start-text.ts';
import { FRAME_BYTES, linesOf } from './batch-lines.ts';

/** Batches of messages through Anthropic's own client, on channels of every protocol. */

let server: TestRedis;
let redis: Redis;
let simulator: Simulator;
let text: TextUnderTest;
let client: Anthropic;
let keyId: string;
let keys = 0;

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
  simulator = await startSimulator();
  const channel = (protocol: string): string =>
    `  ${protocol}: { provider: simulator, baseUrl: "${simulator.url}", apiKey: k, speaks: [${protocol}] }`;
  const model = (protocol: string): string =>
    `  by-${protocol}: { kind: text, routes: [{ channel: ${protocol} }], price: { inputPerMTok: 10, outputPerMTok: 100 } }`;
  text = await startText({
    redis,
    configuration: `
channels:
${['responses', 'messages', 'chat'].map(channel).join('\n')}
models:
${['responses', 'messages', 'chat'].map(model).join('\n')}
`,
  });
  await text.startBatchRunner();
});
beforeEach(() => {
  keys += 1;
  keyId = `key_messages_${keys}`;
  simulator.reset();
  client = clientOf(keyId);
});
afterAll(async () => {
  await text.close();
  await simulator.close();
  redis.disconnect();
  await server.close();
});

const clientOf = (id: string) =>
  new Anthropic({
    apiKey: 'unused',
    baseURL: text.url,
    maxRetries: 0,
    defaultHeaders: text.identityHeaders({ keyId: id }),
  });

const MESSAGES = '/v1/messages';
const paramsOf = (model = 'by-messages') => ({
  model,
  max_tokens: 100,
  messages: [{ role: 'user' as const, content: 'Hello.' }],
});
const create = (requests: Anthropic.Messages.BatchCreateParams.Request[]) =>
  client.messages.batches.create({ requests });
const ended = (id: string) =>
  waitFor(async () => {
    const batch = await client.messages.batches.retrieve(id);
    return batch.processing_status === 'ended' && MessageBatch.parse(JSON.parse(JSON.stringify(batch)));
  });
async function resultsOf(id: string) {
  const results: Anthropic.Messages.MessageBatchIndividualResponse[] = [];
  for await (const result of await client.messages.batches.results(id)) results.push(result);
  return results;
}
const records = async (count: number) => {
  const read = async () => {
    const name = redisNames.records(new Date().toISOString().slice(0, 10));
    const all = (await redis.xrange(name, '-', '+')).map(([, fields]) =>
      UsageRecord.parse(JSON.parse(fields[1] ?? '')),
    );
    return all.filter((record) => record.keyId === keyId);
  };
  await waitFor(async () => (await read()).length >= count, { what: `${count} usage records` });
  return read();
};

test('every request is answered by its model, whatever its channel speaks, and billed once under the batch', async () => {
  const requests = ['responses', 'messages', 'chat'].flatMap((protocol) =>
    Array.from({ length: 5 }, (_, n) => ({
      custom_id: `${protocol}-${n}`,
      params: paramsOf(`by-${protocol}`),
    })),
  );
  const made = await create(requests);
  expect(made).toMatchObject({
    type: 'message_batch',
    processing_status: 'in_progress',
    request_counts: { processing: 15, succeeded: 0 },
    ended_at: null,
    results_url: null,
  });
  await expect(client.messages.batches.results(made.id)).rejects.toThrow();
  const batch = await ended(made.id);
  expect(batch.request_counts).toEqual({ processing: 0, succeeded: 15, errored: 0, canceled: 0, expired: 0 });
  expect(batch.results_url).toBe(`${text.url}/v1/messages/batches/${made.id}/results`);
  const results = await resultsOf(made.id);
  expect(results.map(({ custom_id }) => custom_id)).toEqual(requests.map(({ custom_id }) => custom_id));
  for (const { result } of results)
    expect(result).toMatchObject({ type: 'succeeded', message: { type: 'message', role: 'assistant' } });
  const billed = await records(15);
  expect(billed).toHaveLength(15);
  expect(new Set(billed.map(({ label, endpoint }) => `${label} ${endpoint}`))).toEqual(
    new Set([`${made.id} messages`]),
  );
});

test('what is wrong with a request is its result, and the others are done', async () => {
  const { id } = await create([
    { custom_id: 'good', params: paramsOf() },
    { custom_id: 'nothing', params: { ...paramsOf(), messages: [] } },
    { custom_id: 'no-model', params: paramsOf('none') },
    { custom_id: 'stream', params: Object.assign(paramsOf(), { stream: true }) },
  ]);
  const batch = await ended(id);
  expect(batch.request_counts).toMatchObject({ succeeded: 1, errored: 3 });
  const results = await resultsOf(id);
  expect(results.slice(1).map(({ result }) => result)).toMatchObject([
    { type: 'errored', error: { type: 'error', error: { type: 'invalid_request_error' } } },
    { type: 'errored', error: { type: 'error', error: { type: 'not_found_error' } } },
    { type: 'errored', error: { type: 'error', error: { type: 'invalid_request_error' } } },
  ]);
});

test('a batch is refused at once where a request has no name of its own, or there is none', async () => {
  const one = { custom_id: 'a', params: paramsOf() };
  await expect(create([one, one])).rejects.toThrow(/requests\.1\.custom_id/);
  await expect(create([one, { ...one, custom_id: 'not a name' }])).rejects.toThrow(/requests\.1\.custom_id/);
  await expect(create([])).rejects.toMatchObject({ status: 400 });
  const reply = await text.fetch('/v1/messages/batches', { body: '{"requests":[{' });
  expect([reply.status, await reply.json()]).toMatchObject([
    400,
    { type: 'error', error: { type: 'invalid_request_error' } },
  ]);
  expect((await client.messages.batches.list()).data).toEqual([]);
});

test('a request that would be too long to be read again is refused at once', async () => {
  const small = await startText({ redis, configuration: 'channels: {}\nmodels: {}\n', maxBodyBytes: 2048 });
  const create = async (bytes: number) => {
    const made = (filler: string) => JSON.stringify({ custom_id: 'a', params: { ...paramsOf(), filler } });
    const entry = made('a'.repeat(bytes - made('').length));
    const reply = await small.fetch('/v1/messages/batches', {
      body: `{"requests":[${entry}]}`,
      identity: { keyId },
    });
    return { status: reply.status, batch: await reply.json() };
  };
  // As long as a line of a file may be, and longer as a line of one.
  expect(await create(2048 + FRAME_BYTES)).toMatchObject({ status: 413 });
  const { status, batch } = await create(2048 + FRAME_BYTES / 2);
  expect(status).toBe(200);
  const { id } = MessageBatch.parse(batch);
  const record = await small.batches.records.find(jobIdOfBatch('anthropic', id) ?? '');
  const { signal } = new AbortController();
  const lines = [];
  for await (const { number } of linesOf(small.batches, record?.fileId ?? '', { signal })) lines.push(number);
  expect(lines).toEqual([1]);
  await small.close();
});

test('a batch that is cancelled says of each request what became of it', async () => {
  const gate = createGate();
  for (let n = 0; n < 40; n += 1) simulator.script(MESSAGES, { stallAfter: 0, resume: gate.opened });
  const { id } = await create(
    Array.from({ length: 40 }, (_, n) => ({ custom_id: `${n}`, params: paramsOf() })),
  );
  await waitFor(() => simulator.requests.length === 16);
  expect(await client.messages.batches.cancel(id)).toMatchObject({ processing_status: 'canceling' });
  gate.open();
  const { request_counts: counts, cancel_initiated_at: cancelledAt } = await ended(id);
  expect(cancelledAt).not.toBeNull();
  expect(counts.succeeded).toBe(simulator.requests.length);
  expect(counts).toMatchObject({ processing: 0, errored: 0, canceled: 40 - counts.succeeded });
  expect(await resultsOf(id)).toHaveLength(40);
});

test('batches are listed both ways, deleted when they have ended, and nobody finds another key’s', async () => {
  const made: string[] = [];
  for (const name of ['a', 'b', 'c'])
    made.unshift((await create([{ custom_id: name, params: paramsOf() }])).id);
  for (const id of made) await ended(id);
  const listed: string[] = [];
  for await (const { id } of client.messages.batches.list({ limit: 2 })) listed.push(id);
  expect(listed).toEqual(made);
  const before = await client.messages.batches.list({ limit: 2, before_id: made[2] ?? '' });
  expect(before.data.map(({ id }) => id)).toEqual(made.slice(0, 2));
  const [first = ''] = made;
  const other = clientOf('key_other');
  await expect(other.messages.batches.retrieve(first)).rejects.toMatchObject({ status: 404 });
  await expect(other.messages.batches.delete(first)).rejects.toMatchObject({ status: 404 });
  const results = `/v1/messages/batches/${first}/results`;
  expect((await text.fetch(results, { identity: { keyId: 'key_other' } })).status).toBe(404);
  expect((await text.fetch(results, { identity: { keyId } })).headers.get('content-type')).toBe(
    'application/x-jsonl',
  );
  expect(await client.messages.batches.delete(first)).toEqual({ id: first, type: 'message_batch_deleted' });
  await expect(client.messages.batches.retrieve(first)).rejects.toMatchObject({ status: 404 });
});
