import Anthropic from '@anthropic-ai/sdk';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Account } from '@gateway/contracts/identity';
import { BatchObject } from '@gateway/contracts/openai/batches';
import { NOTHING_CONSUMED, UsageRecord } from '@gateway/contracts/usage/usage-record';
import { lineJobId, newJobId } from '@gateway/jobs/redis/job-keys';
import { redisNames } from '@gateway/metering/redis-names';
import { createGate } from '@gateway/simulator/gate';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { waitFor } from '@gateway/testkit/wait-for';
import { openBatchApi } from '@gateway/upstream/batches/open-batch-api';
import { parseConfiguration } from '@gateway/upstream/configuration/parse-configuration';
import { Redis } from 'ioredis';
import OpenAI, { toFile } from 'openai';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { jobIdOfBatch } from '../../../batches/batch-id.ts';
import { LineJournal } from '../../../batches/line-journal.ts';
import { LineSet } from '../../../batches/provider-note.ts';
import { startText, type TextUnderTest } from '../../../testing/start-text.ts';
import { releaseLine, withLinesCut } from './collect-results.ts';
import { runAtProvider } from './run-at-provider.ts';
import { prepareLines } from './send-lines.ts';

/** Batches that a channel's provider does, through the official clients of both faces. */

let server: TestRedis;
let redis: Redis;
let simulator: Simulator;
let text: TextUnderTest;
let configuration: string;
let keyId: string;
let keys = 0;

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
  simulator = await startSimulator({ apiKeys: ['k'] });
  const channel = `{ provider: simulator, baseUrl: "${simulator.url}", apiKey: k, batches: provider }`;
  const price = '{ inputPerMTok: 10, outputPerMTok: 100 }';
  configuration = `
channels:
  whole: ${channel}
  usual: { provider: simulator, baseUrl: "${simulator.url}", apiKey: k }
models:
  big: { kind: text, maxOutputTokens: 1000, price: ${price}, routes: [{ channel: whole, model: big-at-provider }] }
  other: { kind: text, maxOutputTokens: 1000, price: ${price}, routes: [{ channel: whole }] }
  elsewhere: { kind: text, maxOutputTokens: 1000, price: ${price}, routes: [{ channel: usual }] }
  vectors: { kind: embedding, price: { inputPerMTok: 2000000 }, routes: [{ channel: whole, model: text-embedding-3-small }] }
  judge: { kind: moderation, routes: [{ channel: whole, model: omni-moderation-latest }] }
  guarded: { kind: text, maxOutputTokens: 1000, price: ${price}, routes: [{ channel: whole }] }
hooks:
  guard: { kind: moderation, baseUrl: "${simulator.url}/v1", apiKey: k, rules: [{ models: [guarded] }] }
`;
  text = await startText({ redis, configuration });
  await text.startBatchRunner();
});
beforeEach(() => {
  keys += 1;
  keyId = `key_provider_${keys}`;
  simulator.reset();
});
afterAll(async () => {
  await text.close();
  await simulator.close();
  redis.disconnect();
  await server.close();
});

const headers = () => text.identityHeaders({ keyId });
const openai = () =>
  new OpenAI({ apiKey: 'unused', baseURL: `${text.url}/v1`, maxRetries: 0, defaultHeaders: headers() });
const anthropic = () =>
  new Anthropic({ apiKey: 'unused', baseURL: text.url, maxRetries: 0, defaultHeaders: headers() });

const CHAT = '/v1/chat/completions';
const RESPONSES = '/v1/responses';
type Endpoint = typeof CHAT | typeof RESPONSES;
const bodyOf = (content: string, model: string, url: Endpoint) =>
  url === CHAT
    ? { model, max_tokens: 100, messages: [{ role: 'user', content }] }
    : { model, max_output_tokens: 100, input: content, store: false };
const linesOf = (contents: readonly string[], model = 'big', url: Endpoint = CHAT) =>
  contents.map((content, n) => ({
    custom_id: `line ${n}`,
    method: 'POST',
    url,
    body: bodyOf(content, model, url),
  }));

async function batchOf(
  lines: readonly unknown[],
  endpoint: OpenAI.Batches.BatchCreateParams['endpoint'] = CHAT,
) {
  const client = openai();
  const bytes = Buffer.from(lines.map((line) => JSON.stringify(line)).join('\n'));
  const file = await client.files.create({ file: await toFile(bytes, 'lines.jsonl'), purpose: 'batch' });
  return client.batches.create({ input_file_id: file.id, endpoint, completion_window: '24h' });
}
const ENDED = ['completed', 'failed', 'expired', 'cancelled'];
const ended = (id: string) =>
  waitFor(async () => {
    const batch = await openai().batches.retrieve(id);
    return ENDED.includes(batch.status) && BatchObject.parse(JSON.parse(JSON.stringify(batch)));
  });
const ResultLine = z.object({
  custom_id: z.string(),
  response: z.object({ status_code: z.int(), body: z.record(z.string(), z.unknown()) }).nullable(),
  error: z.object({ code: z.string() }).nullable(),
});
async function linesIn(fileId: string | null) {
  if (fileId === null) return [];
  const content = await (await openai().files.content(fileId)).text();
  return content
    .trimEnd()
    .split('\n')
    .map((line) => ResultLine.parse(JSON.parse(line)));
}
async function records(count: number) {
  const read = async () => {
    const name = redisNames.records(new Date().toISOString().slice(0, 10));
    const all = (await redis.xrange(name, '-', '+')).map(([, fields]) =>
      UsageRecord.parse(JSON.parse(fields[1] ?? '')),
    );
    return all.filter((record) => record.keyId === keyId);
  };
  await waitFor(async () => (await read()).length >= count, { what: `${count} usage records` });
  return read();
}
const atRest = () => waitFor(async () => (await redis.zcard(redisNames.openReservations)) === 0);
const budgetOf = (microUsd: number): Account => ({
  owner: keyId,
  limits: { requestsPerMinute: 1, tokensPerMinute: 1 },
  budget: { microUsd, period: 'total', allowUnpriced: false },
});
const named = (lines: readonly { custom_id: string }[]) => lines.map(({ custom_id }) => custom_id);
const live = () => simulator.requests.filter(({ path, method }) => method === 'POST' && LIVE.includes(path));
const EMBEDDINGS = '/v1/embeddings';
const MODERATIONS = '/v1/moderations';
const LIVE = [CHAT, RESPONSES, '/v1/messages', EMBEDDINGS];
/** What the simulated provider has of it when it is over: nothing. */
async function nothingLeft() {
  const key = { authorization: 'Bearer k' };
  const files = await (await fetch(`${simulator.baseUrl}/files`, { headers: key })).json();
  expect(files).toMatchObject({ data: [] });
}
/** Of lines that the gateway did itself. */
const fullPrice = ({ consumption }: UsageRecord) =>
  consumption.inputTokens * 10 + consumption.outputTokens * 100;
/** At half of the usual price. */
const halfPrice = ({ consumption }: UsageRecord) =>
  Math.round((consumption.inputTokens * 10 + consumption.outputTokens * 100) / 2);

test.each([CHAT, RESPONSES] as const)(
  'lines of %s are done by the provider, in their order, and billed once at half',
  async (url) => {
    const contents = Array.from({ length: 20 }, (_, n) => `question ${n}`);
    const batch = await batchOf(linesOf(contents, 'big', url), url);
    const { request_counts, output_file_id, error_file_id, usage } = await ended(batch.id);
    expect(request_counts).toEqual({ total: 20, completed: 20, failed: 0 });
    expect(error_file_id).toBeNull();
    const lines = await linesIn(output_file_id);
    expect(named(lines)).toEqual(contents.map((_, n) => `line ${n}`));
    for (const { response } of lines)
      expect(response).toMatchObject({ status_code: 200, body: { model: 'big-at-provider' } });
    expect(live()).toEqual([]);
    const billed = await records(20);
    expect(billed).toHaveLength(20);
    for (const record of billed) {
      expect(record).toMatchObject({
        model: 'big',
        channel: 'whole',
        outcome: 'ok',
        estimated: false,
        label: batch.id,
      });
      expect(record.costMicroUsd).toBe(halfPrice(record));
    }
    const row = simulator.ledger()['big-at-provider (batch)'];
    expect(row).toMatchObject({
      requests: 20,
      inputTokens: usage?.input_tokens,
      outputTokens: usage?.output_tokens,
    });
    await atRest();
    await nothingLeft();
  },
);

const embeddingLines = (inputs: readonly (readonly string[])[]) =>
  inputs.map((input, n) => ({
    ...{ custom_id: `line ${n}`, method: 'POST', url: EMBEDDINGS },
    body: { model: 'vectors', input, dimensions: 2, encoding_format: 'base64' },
  }));

test('texts are embedded by the provider, and each line is billed once at half', async () => {
  const lines = embeddingLines([['one'], ['two', 'three'], ['four', 'five', 'six']]);
  const batch = await batchOf(lines, EMBEDDINGS);
  const { request_counts, output_file_id, usage } = await ended(batch.id);
  expect(request_counts).toEqual({ total: 3, completed: 3, failed: 0 });
  const answers = await linesIn(output_file_id);
  expect(named(answers)).toEqual(named(lines));
  expect(answers.map(({ response }) => Object(response?.body).data.length)).toEqual([1, 2, 3]);
  expect(live()).toEqual([]);
  const billed = await records(3);
  expect(billed).toHaveLength(3);
  for (const { costMicroUsd, consumption, ...record } of billed) {
    expect(record).toMatchObject({
      ...{ endpoint: 'embeddings', channel: 'whole', outcome: 'ok', estimated: false, label: batch.id },
    });
    expect(costMicroUsd).toBe(consumption.inputTokens * 1_000_000);
  }
  expect(simulator.ledger()['text-embedding-3-small (batch)']).toMatchObject({
    requests: 3,
    inputTokens: usage?.input_tokens,
  });
  await atRest();
  await nothingLeft();
});

test('a provider gets as many texts to embed as it takes in all lines together, and the rest in its next batch', async () => {
  const { channels } = text.batches.services.upstream.configuration;
  const channel = channels.get('whole');
  const [account] = channel?.accounts ?? [];
  const identity = await text.batches.readIdentity(keyId);
  const bytes = embeddingLines([['one'], ['two', 'three'], ['four', 'five']]).map((line) =>
    JSON.stringify(line),
  );
  const file = await toFile(Buffer.from(bytes.join('\n')), 'lines.jsonl');
  const { id: fileId } = await openai().files.create({ file, purpose: 'batch' });
  if (!channel?.batches || account === undefined || identity === undefined) throw new Error('no channel');
  const api = openBatchApi(channel, account, 'embeddings');
  if (api === null) throw new Error('no batches of embeddings');
  expect(api.maxInputs).toBe(50_000);
  const startedAtMs = Date.now();
  const uploadId = text.batches.uploads.newId();
  const { signal } = new AbortController();
  const note = { channel: 'whole', account: account.name, batches: channel.batches, identity, startedAtMs };
  const context = { jobId: newJobId(), requestId: 'req', signal };
  const { services } = text.batches;
  const journal = await journalOf(context.jobId);
  const place = { services, journal, note, context, url: EMBEDDINGS, headers: {}, label: 'x' };
  const prepared = await prepareLines(text.batches, {
    ...{ api: { ...api, maxInputs: 3 }, place, fileId, uploadId, name: 'x' },
    ...{ untilMs: startedAtMs + 60_000, earlier: new LineSet() },
  });
  expect([[...prepared.sent], prepared.hasMore]).toEqual([[0, 1], true]);
  for (const index of prepared.sent) await releaseLine(text.batches, place, lineJobId(context.jobId, index));
  await text.batches.uploads.delete(uploadId);
  await api.close();
  await atRest();
});

test('what is to be judged goes to the provider as well', async () => {
  const lineOf = (input: string) => ({
    ...{ custom_id: input, method: 'POST', url: MODERATIONS, body: { model: 'judge', input } },
  });
  const batch = await batchOf([lineOf('I hate it'), lineOf('Good morning')], MODERATIONS);
  const answers = await linesIn((await ended(batch.id)).output_file_id);
  expect(answers.map(({ response }) => Object(response?.body).results[0].flagged)).toEqual([true, false]);
  expect(simulator.requests.filter(({ path }) => path === MODERATIONS)).toEqual([]);
  await atRest();
});

test('batches that wait at their provider do not keep the key’s next ones from beginning', async () => {
  simulator.batches.isHeld = true;
  const made = await Promise.all(Array.from({ length: 12 }, (_, n) => batchOf(linesOf([`question ${n}`]))));
  const created = () =>
    simulator.requests.filter(({ path, method }) => method === 'POST' && path === '/v1/batches').length;
  await waitFor(() => created() === 12, { what: '12 batches at the provider' });
  simulator.batches.isHeld = false;
  for (const { id } of made) expect(await ended(id)).toMatchObject({ request_counts: { completed: 1 } });
  expect(live()).toEqual([]);
  await atRest();
});

const MESSAGES = '/v1/messages';
const paramsOf = (content: string, model = 'big') => ({
  model,
  max_tokens: 100,
  messages: [{ role: 'user' as const, content }],
});
const requestsOf = (contents: readonly string[], model = 'big') =>
  contents.map((content, n) => ({ custom_id: `row-${n}`, params: paramsOf(content, model) }));
const messagesEnded = (id: string) =>
  waitFor(async () => {
    const batch = await anthropic().messages.batches.retrieve(id);
    return batch.processing_status === 'ended' && batch;
  });
async function messagesOf(id: string) {
  const results: Anthropic.Messages.MessageBatchIndividualResponse[] = [];
  for await (const result of await anthropic().messages.batches.results(id)) results.push(result);
  return results;
}
const noMessagesLeft = async () => {
  const key = { 'x-api-key': 'k' };
  const batches = await (await fetch(`${simulator.baseUrl}/messages/batches`, { headers: key })).json();
  expect(batches).toMatchObject({ data: [] });
};

test('messages of several models go to their provider as one batch, and are billed once at half', async () => {
  const requests = [
    ...requestsOf(Array.from({ length: 10 }, (_, n) => `question ${n}`)),
    { custom_id: 'another', params: paramsOf('Hello.', 'other') },
  ];
  const batch = await anthropic().messages.batches.create({ requests });
  expect((await messagesEnded(batch.id)).request_counts).toEqual({
    processing: 0,
    succeeded: 11,
    errored: 0,
    canceled: 0,
    expired: 0,
  });
  const results = await messagesOf(batch.id);
  expect(named(results)).toEqual(named(requests));
  expect(results[10]?.result).toMatchObject({
    type: 'succeeded',
    message: { type: 'message', model: 'other' },
  });
  expect(live()).toEqual([]);
  for (const record of await records(11)) expect(record.costMicroUsd).toBe(halfPrice(record));
  await atRest();
  await noMessagesLeft();
});

test.each([
  ['the file', '/v1/files', 400],
  ['the batch', '/v1/batches', 429],
  ['the batch', '/v1/batches', 404],
])(
  'where the provider refuses %s (%s, %i), the gateway does the lines itself, at the usual price',
  async (_what, path, status) => {
    simulator.script(({ method, path: asked }) => method === 'POST' && asked === path, {
      status,
      json: { error: { message: 'Not now.', type: 'x', code: null, param: null } },
    });
    const batch = await batchOf(linesOf(['one', 'two', 'three']));
    expect(await ended(batch.id)).toMatchObject({ request_counts: { total: 3, completed: 3, failed: 0 } });
    expect(live()).toHaveLength(3);
    for (const record of await records(3)) expect(record.costMicroUsd).toBe(fullPrice(record));
    await atRest();
    await nothingLeft();
  },
);

test('where the provider refuses a batch of messages, the gateway does them itself', async () => {
  simulator.script('/v1/messages/batches', {
    status: 429,
    json: { type: 'error', error: { type: 'rate_limit_error', message: 'No.' } },
  });
  const batch = await anthropic().messages.batches.create({ requests: requestsOf(['one', 'two']) });
  expect((await messagesEnded(batch.id)).request_counts.succeeded).toBe(2);
  expect(live()).toHaveLength(2);
  for (const record of await records(2)) expect(record.costMicroUsd).toBe(fullPrice(record));
  await atRest();
});

test('lines that a hook checks are not given to the provider before it has', async () => {
  const { id } = await batchOf(linesOf(['one', 'I will kill the process'], 'guarded'));
  const batch = await ended(id);
  expect(batch.request_counts).toEqual({ total: 2, completed: 1, failed: 1 });
  expect(simulator.requests.filter(({ path }) => /batches$/.test(path))).toEqual([]);
  expect(live()).toHaveLength(1);
  const [blocked] = await linesIn(batch.error_file_id ?? null);
  expect(blocked).toMatchObject({ custom_id: 'line 1', response: { status_code: 400 } });
  await atRest();
});

test('an answer to the creation that is lost does not have the batch made twice: it is found again', async () => {
  for (const path of ['/v1/batches', '/v1/messages/batches'])
    simulator.script(({ method, path: asked }) => method === 'POST' && asked === path, { cutAfter: 0 });
  const batch = await batchOf(linesOf(['one', 'two']));
  expect(await ended(batch.id)).toMatchObject({ request_counts: { completed: 2 } });
  const messages = await anthropic().messages.batches.create({
    requests: requestsOf(['one', 'two', 'three']),
  });
  expect((await messagesEnded(messages.id)).request_counts.succeeded).toBe(3);
  expect(live()).toEqual([]);
  const made = simulator.requests.filter(({ method, path }) => method === 'POST' && /batches$/.test(path));
  expect(made).toHaveLength(2);
  for (const record of await records(5)) expect(record.costMicroUsd).toBe(halfPrice(record));
  await atRest();
});

test('what the provider refuses of a line is its own error; what it failed at, or did not come to, the gateway does', async () => {
  simulator.batches.maxRun = 4;
  simulator.script(({ path, body }) => path === CHAT && body.includes('four'), {
    status: 200,
    text: 'Four.',
  });
  const contents = ['one', '[[simulate status=400]]', 'three', 'four [[simulate status=500]]', 'five', 'six'];
  const batch = await batchOf(linesOf(contents));
  const { request_counts, output_file_id, error_file_id } = await ended(batch.id);
  expect(request_counts).toEqual({ total: 6, completed: 5, failed: 1 });
  expect(named(await linesIn(output_file_id))).toEqual(['line 0', 'line 2', 'line 3', 'line 4', 'line 5']);
  expect(await linesIn(error_file_id)).toMatchObject([
    { custom_id: 'line 1', response: { status_code: 400 } },
  ]);
  expect(live()).toHaveLength(3);
  const billed = (await records(6)).filter(({ outcome }) => outcome === 'ok');
  const isHalf = billed.map((record) => record.costMicroUsd === halfPrice(record));
  expect(isHalf.filter(Boolean)).toHaveLength(2);
  expect(billed).toHaveLength(5);
  await atRest();
});

test.each([CHAT, MESSAGES])(
  'cancelling a batch of %s stops it at the provider; what was done is kept and billed',
  async (url) => {
    simulator.batches.isHeld = true;
    simulator.batches.maxRun = 3;
    const contents = Array.from({ length: 8 }, (_, n) => `question ${n}`);
    const isPolled = () =>
      waitFor(() =>
        simulator.requests.some(({ method, path }) => method === 'GET' && /batches\/\w*batch_/.test(path)),
      );
    if (url === CHAT) {
      const { id } = await batchOf(linesOf(contents));
      await isPolled();
      await openai().batches.cancel(id);
      const { status, request_counts, output_file_id, error_file_id } = await ended(id);
      expect(status).toBe('cancelled');
      expect(request_counts).toEqual({ total: 8, completed: 3, failed: 5 });
      expect(named(await linesIn(output_file_id))).toEqual(['line 0', 'line 1', 'line 2']);
      expect((await linesIn(error_file_id)).every(({ error }) => error?.code === 'batch_cancelled')).toBe(
        true,
      );
    } else {
      const { id } = await anthropic().messages.batches.create({ requests: requestsOf(contents) });
      await isPolled();
      await anthropic().messages.batches.cancel(id);
      expect((await messagesEnded(id)).request_counts).toMatchObject({ succeeded: 3, canceled: 5 });
    }
    expect(live()).toEqual([]);
    const billed = await records(3);
    expect(billed).toHaveLength(3);
    for (const record of billed) expect(record.costMicroUsd).toBe(halfPrice(record));
    await atRest();
  },
);

test('a budget in the middle: as many lines as it covers go at a time, and all of them when they cost less than was reserved', async () => {
  // A line reserves its 100 tokens of output and its input at half price, and costs about a fifth.
  const budget = budgetOf(16_000);
  text.identities.set(keyId, { accounts: [budget] });
  const batch = await batchOf(linesOf(['one', 'two', 'three', 'four', 'five', 'six']));
  expect(await ended(batch.id)).toMatchObject({ request_counts: { total: 6, completed: 6, failed: 0 } });
  expect(live()).toEqual([]);
  const made = simulator.requests.filter(({ method, path }) => method === 'POST' && path === '/v1/batches');
  expect(made.length).toBeGreaterThan(1);
  const billed = await records(6);
  expect(billed).toHaveLength(6);
  for (const record of billed) expect(record.costMicroUsd).toBe(halfPrice(record));
  await atRest();
});

test('a budget that covers no line: each fails as it would without the provider', async () => {
  text.identities.set(keyId, { accounts: [{ ...budgetOf(10), limits: {} }] });
  const batch = await batchOf(linesOf(['one', 'two']));
  const { error_file_id } = await ended(batch.id);
  for (const { response } of await linesIn(error_file_id))
    expect(response).toMatchObject({ body: { error: { code: 'insufficient_quota' } } });
  expect(simulator.requests.filter(({ method }) => method === 'POST')).toEqual([]);
  await atRest();
});

test.each([CHAT, MESSAGES])(
  'a provider that lies about its results of %s: each line has one outcome, and is billed once',
  async (url) => {
    simulator.batches.tamper = (lines) => {
      const [missing, first, ...rest] = lines;
      const foreign = first?.replace(/job_[0-9a-f]{32}/, `job_${'0'.repeat(32)}`);
      return [first ?? '', first ?? '', foreign ?? '', '{"custom_id":', '[]', ...rest].filter(
        (line) => line !== missing,
      );
    };
    const contents = ['one', 'two', 'three', 'four'];
    if (url === CHAT) {
      const { id } = await batchOf(linesOf(contents));
      const { request_counts, error_file_id } = await ended(id);
      expect(request_counts).toEqual({ total: 4, completed: 3, failed: 1 });
      expect(await linesIn(error_file_id)).toMatchObject([
        { custom_id: 'line 3', response: { status_code: 502, body: { error: { code: 'outcome_unknown' } } } },
      ]);
    } else {
      const { id } = await anthropic().messages.batches.create({ requests: requestsOf(contents) });
      expect((await messagesEnded(id)).request_counts).toMatchObject({ succeeded: 3, errored: 1 });
    }
    expect(live()).toEqual([]);
    const billed = await records(4);
    expect(billed).toHaveLength(4);
    expect(billed.filter(({ estimated }) => estimated)).toMatchObject([
      { outcome: 'failed', channel: 'whole' },
    ]);
    await atRest();
    expect(text.lines.findLast(({ msg }) => msg === 'batch at a provider')).toMatchObject({
      missing: 1,
      strange: 4,
    });
  },
);

test.each([
  ['of another channel', linesOf(['one', 'two'], 'elsewhere')],
  [
    'of two models, which OpenAI takes no file of',
    [...linesOf(['one']), { ...linesOf(['two'], 'other')[0], custom_id: 'two' }],
  ],
  ['one of which stores a conversation', null],
])('lines %s are done by the gateway', async (_what, given) => {
  const stored = [
    ...linesOf(['one'], 'big', RESPONSES),
    {
      custom_id: 'goes on',
      method: 'POST',
      url: RESPONSES,
      body: { model: 'big', input: 'On.', previous_response_id: 'resp_none' },
    },
  ];
  const batch = await batchOf(given ?? stored, given === null ? RESPONSES : CHAT);
  const { request_counts } = await ended(batch.id);
  expect(request_counts?.total).toBe(2);
  expect(
    simulator.requests.filter(({ path, method }) => path === '/v1/batches' && method === 'POST'),
  ).toEqual([]);
});

test('limits per minute do not hold back what a provider does', async () => {
  text.identities.set(keyId, { accounts: [budgetOf(100_000_000)] });
  const batch = await batchOf(linesOf(Array.from({ length: 30 }, (_, n) => `question ${n}`)));
  expect(await ended(batch.id)).toMatchObject({ request_counts: { completed: 30 } });
  expect(live()).toEqual([]);
});

test('what a provider has put down is deleted there only when that is noted: who goes on with it then reads nothing again', async () => {
  const held = createGate();
  simulator.script(({ method }) => method === 'DELETE', { gate: held.opened });
  const { id } = await batchOf(linesOf(['one', 'two']));
  await waitFor(() => simulator.requests.some(({ method }) => method === 'DELETE'));
  const note = (await text.batches.records.find(jobIdOfBatch('openai', id) ?? ''))?.provider;
  expect(note?.step).toBe('over');
  held.open();
  expect(await ended(id)).toMatchObject({ request_counts: { completed: 2 } });
  await atRest();
});

test('results that are gone at the provider: the batch ends, and its lines are not done again', async () => {
  simulator.batches.isHeld = true;
  const { id } = await batchOf(linesOf(['one', 'two']));
  await waitFor(() => simulator.requests.some(({ path }) => path.startsWith('/v1/batches/batch_')));
  for (let times = 0; times < 3; times += 1)
    simulator.script(({ path }) => path.endsWith('/content'), { status: 404, json: { error: {} } });
  simulator.batches.isHeld = false;
  const { request_counts, error_file_id } = await ended(id);
  expect(request_counts).toEqual({ total: 2, completed: 0, failed: 2 });
  for (const { response } of await linesIn(error_file_id ?? null))
    expect(response).toMatchObject({ body: { error: { code: 'outcome_unknown' } } });
  expect(live()).toEqual([]);
  const billed = await records(2);
  expect(billed.map(({ estimated }) => estimated)).toEqual([true, true]);
  await atRest();
});

test('a batch that its provider has forgotten before it said how far it was: its lines may have been billed, and are not done again', async () => {
  for (let times = 0; times < 3; times += 1)
    simulator.script(({ method, path }) => method === 'GET' && path.startsWith('/v1/batches/batch_'), {
      status: 404,
      json: { error: {} },
    });
  const { id } = await batchOf(linesOf(['one', 'two']));
  const { request_counts, error_file_id } = await ended(id);
  expect(request_counts).toEqual({ total: 2, completed: 0, failed: 2 });
  for (const { response } of await linesIn(error_file_id ?? null))
    expect(response).toMatchObject({ body: { error: { code: 'outcome_unknown' } } });
  expect(live()).toEqual([]);
  await atRest();
});

test('results that cannot be read for a while are read later, and the lines beside them are done', async () => {
  text.identities.set(keyId, { accounts: [budgetOf(16_000)] });
  for (let times = 0; times < 3; times += 1)
    simulator.script(({ path }) => path.endsWith('/content'), { status: 502, json: { error: {} } });
  const { id } = await batchOf(linesOf(['one', 'two', 'three', 'four', 'five', 'six']));
  expect(await ended(id)).toMatchObject({ status: 'completed', request_counts: { completed: 6 } });
  for (const record of await records(6)) expect(record.costMicroUsd).toBe(halfPrice(record));
  await atRest();
});

test('a key that is revoked while a provider is at work has nothing more done', async () => {
  text.identities.set(keyId, { accounts: [budgetOf(16_000)] });
  simulator.batches.isHeld = true;
  const { id } = await batchOf(linesOf(['one', 'two', 'three', 'four', 'five', 'six']));
  await waitFor(() => simulator.requests.some(({ path }) => path.startsWith('/v1/batches/batch_')));
  text.identities.set(keyId, null);
  simulator.batches.isHeld = false;
  const { request_counts, error_file_id } = await ended(id);
  expect(request_counts?.completed).toBeGreaterThan(0);
  expect(request_counts?.failed).toBeGreaterThan(0);
  for (const { response } of await linesIn(error_file_id ?? null))
    expect(response).toMatchObject({ body: { error: { code: 'invalid_api_key' } } });
  const made = simulator.requests.filter(({ method, path }) => method === 'POST' && path === '/v1/batches');
  expect(made).toHaveLength(1);
  expect(live()).toEqual([]);
  await atRest();
});

test('a hook that is configured while a provider is at work checks the lines of the next round', async () => {
  text.identities.set(keyId, { accounts: [{ ...budgetOf(21_000), limits: {} }] });
  simulator.batches.isHeld = true;
  const { id } = await batchOf(linesOf(['one', 'two', 'three', 'four', 'five', 'six']));
  await waitFor(() => simulator.requests.some(({ path }) => path.startsWith('/v1/batches/batch_')));
  text.upstream.replace(parseConfiguration(configuration.replace('[guarded]', '[guarded, big]'), 'c', {}));
  try {
    simulator.batches.isHeld = false;
    expect(await ended(id)).toMatchObject({ request_counts: { completed: 6 } });
    const made = simulator.requests.filter(({ method, path }) => method === 'POST' && path === '/v1/batches');
    expect(made).toHaveLength(1);
    expect(live().length).toBeGreaterThan(0);
    await atRest();
  } finally {
    text.upstream.replace(parseConfiguration(configuration, 'c', {}));
  }
});

test('a batch at a provider is taken from there, at its price, where the channel does no batches any more', async () => {
  text.identities.set(keyId, { accounts: [{ ...budgetOf(21_000), limits: {} }] });
  simulator.batches.isHeld = true;
  const { id } = await batchOf(linesOf(['one', 'two', 'three', 'four', 'five', 'six']));
  await waitFor(() => simulator.requests.some(({ path }) => path.startsWith('/v1/batches/batch_')));
  text.upstream.replace(parseConfiguration(configuration.replace(', batches: provider', ''), 'c', {}));
  try {
    simulator.batches.isHeld = false;
    expect(await ended(id)).toMatchObject({ request_counts: { completed: 6 } });
    const isHalf = (await records(6)).map((record) => record.costMicroUsd === halfPrice(record));
    const done = simulator.ledger()['big-at-provider (batch)']?.requests;
    expect(isHalf.filter(Boolean)).toHaveLength(done ?? 0);
    expect(live()).toHaveLength(6 - (done ?? 0));
    const made = simulator.requests.filter(({ method, path }) => method === 'POST' && path === '/v1/batches');
    expect(made).toHaveLength(1);
    await atRest();
  } finally {
    text.upstream.replace(parseConfiguration(configuration, 'c', {}));
  }
});

const journalOf = (batchId: string) => {
  const { journals: store, onError } = text.batches;
  return LineJournal.open({ store, batchId, signal: new AbortController().signal, onError });
};

/** A batch that another process has begun with. */
async function begunBatch(contents: readonly string[], service = text.batches) {
  const bytes = Buffer.from(
    linesOf(contents)
      .map((line) => JSON.stringify(line))
      .join('\n'),
  );
  const { id: fileId } = await openai().files.create({
    file: await toFile(bytes, 'lines.jsonl'),
    purpose: 'batch',
  });
  const jobId = newJobId();
  const { records } = text.batches;
  const createdAtMs = Date.now();
  const untilMs = createdAtMs + 3_600_000;
  const lines = contents.length;
  const asked = { face: 'openai', endpoint: CHAT, fileId, metadata: null, resultSeconds: 3600 } as const;
  await records.create(jobId, { ...asked, model: 'big', lines, createdAtMs, untilMs, headers: {}, keyId });
  const found = async () => {
    const batch = await records.find(jobId);
    if (batch === undefined) throw new Error('there is no batch');
    return batch;
  };
  const goOn = async (isEnding: boolean) => {
    const { signal } = new AbortController();
    const opened = { batch: await found(), journal: await journalOf(jobId) };
    await runAtProvider(service, opened, { context: { requestId: 'req', signal }, isEnding });
  };
  return { jobId, found, goOn };
}

test('a batch whose lines the gateway has begun with is not given to a provider that is told to do batches since', async () => {
  const { jobId, found, goOn } = await begunBatch(['one', 'two']);
  const error = new GatewayError('upstream_failed', 'It was tried.');
  await (await journalOf(jobId)).finish(0, { type: 'errored', error }, null);
  await goOn(false);
  expect((await found()).provider).toBeNull();
  expect(simulator.requests).toEqual([]);
});

test('a batch that is cancelled before it was created at a provider that is no longer configured costs nothing', async () => {
  const { jobId, found, goOn } = await begunBatch(['one', 'two']);
  const identity = { keyId, keyName: 'one', team: null, models: null, endpoints: null, accounts: [] };
  const startedAtMs = Date.now();
  await text.batches.records.noteProvider(jobId, {
    ...({ step: 'preparing', round: 0, channel: 'gone', account: 'default', identity, startedAtMs } as const),
    batches: { paths: {}, priceFactor: 0.5 },
    ...{ uploadId: null, batchId: null, sent: '', earlier: '', hasMore: false },
  });
  const id = lineJobId(jobId, 0);
  const subject = {
    id,
    keyId,
    team: null,
    endpoint: 'chat',
    model: 'big',
    requestId: id,
    startedAtMs,
  } as const;
  const estimate = {
    ...({ outcome: 'abandoned', channel: 'gone', attempts: 1, durationMs: 0, firstByteMs: null } as const),
    ...{ consumption: NOTHING_CONSUMED, estimated: true, costMicroUsd: 5000 },
  };
  await text.batches.meter.begin({ subject, accounts: [], estimate, leaseMs: 3_600_000 });
  expect(await redis.zcard(redisNames.openReservations)).toBe(1);
  await goOn(true);
  expect((await found()).provider?.step).toBe('over');
  await atRest();
});

test.each([
  ['has expired', 3_700_000, false],
  ['is cancelled', 0, true],
])(
  'a provider that cannot be asked for its batches: one that %s ends, and each line says that it may have been billed',
  async (_what, laterMs, isEnding) => {
    const answer = { status: 404, json: { error: { message: 'No such path.' } } };
    for (let times = 0; times < (isEnding ? 3 : 1); times += 1)
      simulator.script(({ method, path }) => method === 'GET' && path.startsWith('/v1/batches'), answer);
    const reports: string[] = [];
    const service = {
      ...text.batches,
      now: () => Date.now() + laterMs,
      onProviderBatch: ({ outcome }: { outcome: string }) => void reports.push(outcome),
    };
    const { jobId, found, goOn } = await begunBatch(['one', 'two'], service);
    const { channels } = text.batches.services.upstream.configuration;
    const batches = channels.get('whole')?.batches;
    const identity = await text.batches.readIdentity(keyId);
    if (!batches || identity === undefined) throw new Error('no batches');
    const sent = new LineSet();
    for (const index of [0, 1]) sent.add(index);
    await text.batches.records.noteProvider(jobId, {
      ...({ step: 'creating', round: 0, channel: 'whole', account: 'default', identity, batches } as const),
      ...{ startedAtMs: Date.now(), uploadId: 'file-1', batchId: null, hasMore: false },
      ...{ sent: String(sent), earlier: '' },
    });
    await goOn(isEnding);
    expect((await found()).provider?.step).toBe('over');
    const journal = await journalOf(jobId);
    for (const index of [0, 1])
      expect(journal.end(index)).toMatchObject({
        errorCode: 'outcome_unknown',
        errorMessage: expect.stringContaining('may have been billed'),
      });
    expect(reports).toEqual(isEnding ? ['undecided', 'lost'] : ['lost']);
    expect(live()).toEqual([]);
  },
);

test('a line of results that is too long is none, and those after it are read', async () => {
  const given = ['{"a":1}\n{"b', 'ig":22222', '2}\n{"c":3}\n', '{"d":4}'];
  const source = async function* () {
    for (const chunk of given) yield Buffer.from(chunk);
  };
  const chunks: Buffer[] = [];
  for await (const chunk of withLinesCut(source(), 8)) chunks.push(chunk);
  expect(Buffer.concat(chunks).toString()).toBe('{"a":1}\n{"big":2\n{"c":3}\n{"d":4}');
});
