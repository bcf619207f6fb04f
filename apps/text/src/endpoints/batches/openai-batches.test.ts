import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Account } from '@gateway/contracts/identity';
import { BatchObject } from '@gateway/contracts/openai/batches';
import { UsageRecord } from '@gateway/contracts/usage/usage-record';
import { redisNames } from '@gateway/metering/redis-names';
import { createGate } from '@gateway/simulator/gate';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { waitFor } from '@gateway/testkit/wait-for';
import { Redis } from 'ioredis';
import OpenAI, { toFile } from 'openai';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { startText, type TextUnderTest } from '../../testing/start-text.ts';

/** Batches of text requests through OpenAI's own client, on channels of every protocol. */

let server: TestRedis;
let redis: Redis;
let simulator: Simulator;
let text: TextUnderTest;
let client: OpenAI;
let keyId: string;
let keys = 0;

const TAKEOVER = { lockMs: 500, checkMs: 250, graceMs: 250 };

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
  simulator = await startSimulator();
  const channel = (protocol: string): string =>
    `  ${protocol}: { provider: simulator, baseUrl: "${simulator.url}", apiKey: k, speaks: [${protocol}] }`;
  const model = (protocol: string): string =>
    `  by-${protocol}: { kind: text, maxOutputTokens: 1000, routes: [{ channel: ${protocol} }], price: { inputPerMTok: 10, outputPerMTok: 100 } }`;
  text = await startText({
    redis,
    configuration: `
channels:
${['responses', 'messages', 'chat'].map(channel).join('\n')}
  retrieval: { provider: simulator, baseUrl: "${simulator.url}", apiKey: k }
models:
${['responses', 'messages', 'chat'].map(model).join('\n')}
  vectors: { kind: embedding, routes: [{ channel: retrieval, model: text-embedding-3-small }], price: { inputPerMTok: 1000000 } }
  judge: { kind: moderation, routes: [{ channel: retrieval, model: omni-moderation-latest }] }
  bare: { kind: text, maxOutputTokens: 1000, routes: [{ channel: retrieval }], price: { inputPerMTok: 10, outputPerMTok: 100 } }
`,
  });
  await text.startBatchRunner({ takeover: TAKEOVER });
});
beforeEach(() => {
  keys += 1;
  keyId = `key_batch_${keys}`;
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
  new OpenAI({
    apiKey: 'unused',
    baseURL: `${text.url}/v1`,
    maxRetries: 0,
    defaultHeaders: text.identityHeaders({ keyId: id }),
  });

const CHAT = '/v1/chat/completions';
const chat = (content = 'Hello.', more: object = {}) => ({
  model: 'by-chat',
  max_tokens: 100,
  messages: [{ role: 'user', content }],
  ...more,
});
const lineOf = (custom_id: string, body: object = chat(), url = CHAT) => ({
  custom_id,
  method: 'POST',
  url,
  body,
});
const fileOf = async (lines: readonly unknown[]) => {
  const file = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n');
  return client.files.create({ file: await toFile(Buffer.from(file), 'lines.jsonl'), purpose: 'batch' });
};
const batchOf = async (
  lines: readonly unknown[],
  endpoint: OpenAI.Batches.BatchCreateParams['endpoint'] = CHAT,
) =>
  client.batches.create({
    input_file_id: (await fileOf(lines)).id,
    endpoint,
    completion_window: '24h',
  });
const ENDED = ['completed', 'failed', 'expired', 'cancelled'];
const ended = (id: string) =>
  waitFor(async () => {
    const batch = await client.batches.retrieve(id);
    return ENDED.includes(batch.status) && BatchObject.parse(JSON.parse(JSON.stringify(batch)));
  });
const ResultLine = z.strictObject({
  id: z.string().startsWith('batch_req_'),
  custom_id: z.string(),
  response: z
    .strictObject({ status_code: z.int(), request_id: z.string(), body: z.record(z.string(), z.unknown()) })
    .nullable(),
  error: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
});
const linesIn = async (fileId: string | null) => {
  if (fileId === null) return [];
  const content = await (await client.files.content(fileId)).text();
  return content
    .trimEnd()
    .split('\n')
    .map((line) => ResultLine.parse(JSON.parse(line)));
};
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
/** Nothing is reserved any more. */
const atRest = () => waitFor(async () => (await redis.zcard(redisNames.openReservations)) === 0);
const budgetOf = (microUsd: number): Account => ({
  owner: keyId,
  limits: {},
  budget: { microUsd, period: 'total', allowUnpriced: false },
});
const named = (lines: readonly { custom_id: string }[]) => lines.map(({ custom_id }) => custom_id);

test('every line is answered by its model, whatever its channel speaks, and billed once under the batch', async () => {
  const lines = ['responses', 'messages', 'chat'].flatMap((protocol) =>
    Array.from({ length: 10 }, (_, n) =>
      lineOf(`${protocol} ${n}`, chat(`${n}`, { model: `by-${protocol}` })),
    ),
  );
  const made = await batchOf(lines);
  expect(made).toMatchObject({ object: 'batch', endpoint: CHAT, completion_window: '24h', errors: null });
  const batch = await ended(made.id);
  expect(batch).toMatchObject({
    status: 'completed',
    request_counts: { total: 30, completed: 30, failed: 0 },
    error_file_id: null,
  });
  const results = await linesIn(batch.output_file_id);
  expect(named(results)).toEqual(named(lines));
  for (const { response } of results)
    expect(response).toMatchObject({ status_code: 200, body: { object: 'chat.completion' } });
  expect(simulator.requests).toHaveLength(30);
  const billed = await records(30);
  expect(billed).toHaveLength(30);
  expect(new Set(billed.map(({ label }) => label))).toEqual(new Set([made.id]));
  expect(billed.every(({ endpoint, outcome }) => endpoint === 'chat' && outcome === 'ok')).toBe(true);
  const total = (name: 'inputTokens' | 'outputTokens') =>
    billed.reduce((sum, { consumption }) => sum + consumption[name], 0);
  expect(batch.usage).toMatchObject({
    input_tokens: total('inputTokens'),
    output_tokens: total('outputTokens'),
  });
  await atRest();
});

test('responses are made in batches as well', async () => {
  const lines = ['responses', 'messages'].map((protocol) =>
    lineOf(protocol, { model: `by-${protocol}`, input: 'Hello.' }, '/v1/responses'),
  );
  const batch = await ended((await batchOf(lines, '/v1/responses')).id);
  const results = await linesIn(batch.output_file_id);
  expect(results.map(({ response }) => response?.body.object)).toEqual(['response', 'response']);
});

const EMBEDDINGS = '/v1/embeddings';

test('texts are embedded in batches, and each line is billed once by its tokens', async () => {
  const inputs = ['one', ['two', 'three'], [[1, 2, 3]], Array.from({ length: 2048 }, (_, n) => `text ${n}`)];
  const lines = inputs.map((input, n) =>
    lineOf(`line ${n}`, { model: 'vectors', input, dimensions: 4 }, EMBEDDINGS),
  );
  const made = await batchOf(lines, EMBEDDINGS);
  const batch = await ended(made.id);
  expect(batch).toMatchObject({ status: 'completed', endpoint: EMBEDDINGS, model: 'vectors' });
  expect(batch.request_counts).toEqual({ total: 4, completed: 4, failed: 0 });
  const results = await linesIn(batch.output_file_id);
  expect(named(results)).toEqual(named(lines));
  expect(results.map(({ response }) => Object(response?.body).data.length)).toEqual([1, 2, 1, 2048]);
  const billed = await records(4);
  expect(billed).toHaveLength(4);
  for (const { endpoint, outcome, label, costMicroUsd, consumption } of billed) {
    expect({ endpoint, outcome, label }).toEqual({ endpoint: 'embeddings', outcome: 'ok', label: made.id });
    expect(costMicroUsd).toBe(consumption.inputTokens * 1_000_000);
  }
  const tokens = billed.reduce((sum, { consumption }) => sum + consumption.inputTokens, 0);
  expect(batch.usage).toMatchObject({ input_tokens: tokens, output_tokens: 0 });
  expect(simulator.ledger()['text-embedding-3-small']).toMatchObject({ requests: 4, inputTokens: tokens });
  await atRest();
});

test('a line that asks for vectors of any length ends by itself, whatever its provider says', async () => {
  simulator.script(EMBEDDINGS, {
    status: 400,
    json: { error: { message: 'Too many.', type: 'x', code: 'y' } },
  });
  const body = { model: 'vectors', input: ['a', 'b'], dimensions: Number.MAX_SAFE_INTEGER };
  const batch = await ended((await batchOf([lineOf('a', body, EMBEDDINGS)], EMBEDDINGS)).id);
  expect(batch).toMatchObject({ status: 'completed', request_counts: { completed: 0, failed: 1 } });
  expect(simulator.requests.filter(({ path }) => path === EMBEDDINGS)).toHaveLength(1);
});

test('a budget ends batches of embeddings where it is spent, and what a provider fails at is in the errors', async () => {
  simulator.script(EMBEDDINGS, { status: 400, json: { error: { message: 'No.', type: 'x', code: 'bad' } } });
  const lines = Array.from({ length: 12 }, (_, n) =>
    lineOf(`line ${n}`, { model: 'vectors', input: 'of six bytes or so' }, EMBEDDINGS),
  );
  text.identities.set(keyId, { accounts: [budgetOf(30_000_000)] });
  const batch = await ended((await batchOf(lines, EMBEDDINGS)).id);
  const failed = await linesIn(batch.error_file_id);
  const done = await linesIn(batch.output_file_id);
  expect([...named(done), ...named(failed)].toSorted()).toEqual(named(lines).toSorted());
  const statuses = failed.map(({ response }) => response?.status_code);
  expect(statuses.filter((status) => status === 400)).toHaveLength(1);
  expect(statuses.filter((status) => status === 429).length).toBe(failed.length - 1);
  expect(done.length).toBeGreaterThan(0);
  const cost = (await records(done.length)).reduce((sum, { costMicroUsd }) => sum + (costMicroUsd ?? 0), 0);
  expect(cost).toBeLessThanOrEqual(30_000_000);
  await atRest();
});

test.each([
  ['/v1/moderations', { model: 'judge', input: ['I hate it', 'Good morning'] }, 'moderations', 'results'],
  ['/v1/completions', { model: 'bare', prompt: 'Once', max_tokens: 20 }, 'completions', 'choices'],
] as const)('lines of %s are answered as by their endpoint', async (url, body, endpoint, member) => {
  const batch = await ended((await batchOf([lineOf('a', body, url), lineOf('b', body, url)], url)).id);
  expect(batch.request_counts).toEqual({ total: 2, completed: 2, failed: 0 });
  const results = await linesIn(batch.output_file_id);
  for (const { response } of results) expect(response?.body).toHaveProperty(member);
  expect((await records(2)).map((record) => record.endpoint)).toEqual([endpoint, endpoint]);
});

test('a key that may not embed may not have it done by lines', async () => {
  const headers = text.identityHeaders({ keyId, endpoints: ['chat', 'batches', 'files'] });
  client = new OpenAI({
    apiKey: 'unused',
    baseURL: `${text.url}/v1`,
    maxRetries: 0,
    defaultHeaders: headers,
  });
  const body = { model: 'vectors', input: 'x' };
  await expect(batchOf([lineOf('a', body, EMBEDDINGS)], EMBEDDINGS)).rejects.toMatchObject({
    status: 403,
    code: 'insufficient_permissions',
  });
});

test('a line that its model refuses is in the error file, and the others are done', async () => {
  simulator.script(CHAT, { status: 400, json: { error: { message: 'No.', type: 'x', code: 'bad' } } });
  const lines = [
    lineOf('refused by one'),
    lineOf('good'),
    lineOf('no messages', { model: 'by-chat' }),
    lineOf('no number', chat('Hello.', { max_tokens: 'many' })),
  ];
  const batch = await ended((await batchOf(lines)).id);
  expect(batch).toMatchObject({ status: 'completed', model: 'by-chat' });
  const failed = await linesIn(batch.error_file_id);
  expect(failed.every(({ response }) => response?.status_code === 400)).toBe(true);
  const done = await linesIn(batch.output_file_id);
  expect([...named(done), ...named(failed)].toSorted()).toEqual(named(lines).toSorted());
  expect(failed.find(({ custom_id }) => custom_id === 'no messages')?.response?.body).toMatchObject({
    error: { param: 'body.messages', code: 'missing_required_parameter' },
  });
});

test('a file that begins with the mark of UTF-8 is as good as one without', async () => {
  const batch = await ended((await batchOf([`\ufeff${JSON.stringify(lineOf('a'))}`, lineOf('b')])).id);
  expect(batch).toMatchObject({ status: 'completed', request_counts: { total: 2, completed: 2 } });
  expect(named(await linesIn(batch.output_file_id))).toEqual(['a', 'b']);
});

const wrong: readonly (readonly [what: string, lines: readonly unknown[], problem: object])[] = [
  ['no JSON', [lineOf('a'), '{"custom_id":'], { line: 2, code: 'invalid_json' }],
  ['another endpoint', [lineOf('a', chat(), '/v1/responses')], { line: 1, param: 'url' }],
  ['the same custom_id', [lineOf('a'), lineOf('b'), lineOf('a')], { line: 3, param: 'custom_id' }],
  ['a model that there is not', [lineOf('a', chat('', { model: 'none' }))], { line: 1, param: 'body.model' }],
  ['a stream', [lineOf('a', chat('', { stream: true }))], { line: 1, param: 'body.stream' }],
  ['no lines', ['\n'], { line: null, code: 'missing_required_parameter' }],
  [
    'too many lines',
    Array.from({ length: 1001 }, (_, n) => lineOf(`${n}`)),
    { line: 1001, code: 'array_above_max_length' },
  ],
];
test.for(wrong)(
  'a file with %s fails before anything is sent, and says where',
  async ([, lines, problem]) => {
    const batch = await ended((await batchOf(lines)).id);
    expect(batch).toMatchObject({ status: 'failed', output_file_id: null, error_file_id: null });
    expect(batch.errors?.data).toMatchObject([problem]);
    expect(batch.failed_at).not.toBeNull();
    expect(simulator.requests).toEqual([]);
  },
);

test('a batch is refused at once for what its request says', async () => {
  const file = await fileOf([lineOf('a')]);
  const create = (more: object) =>
    client.batches.create({
      input_file_id: file.id,
      endpoint: CHAT,
      completion_window: '24h',
      ...more,
    });
  await expect(create({ input_file_id: 'file-none' })).rejects.toMatchObject({
    status: 404,
    param: 'input_file_id',
  });
  await expect(create({ endpoint: '/v1/images/generations' })).rejects.toMatchObject({
    status: 400,
    param: 'endpoint',
  });
  await expect(create({ completion_window: '1h' })).rejects.toMatchObject({ status: 400 });
  const batch = await ended((await create({})).id);
  await expect(create({ input_file_id: batch.output_file_id })).rejects.toMatchObject({
    status: 400,
    param: 'input_file_id',
  });
  await expect(client.batches.cancel(batch.id)).rejects.toMatchObject({ status: 409 });
});

test('nobody finds the files and batches of another key', async () => {
  const batch = await ended((await batchOf([lineOf('a')])).id);
  const other = clientOf('key_other');
  const fileId = batch.output_file_id ?? '';
  const asked = [
    () => other.files.retrieve(fileId),
    () => other.files.content(fileId),
    () => other.files.delete(fileId),
    () => other.batches.retrieve(batch.id),
    () => other.batches.cancel(batch.id),
    () =>
      other.batches.create({ input_file_id: batch.input_file_id, endpoint: CHAT, completion_window: '24h' }),
  ];
  for (const ask of asked) await expect(ask()).rejects.toMatchObject({ status: 404 });
  expect((await other.batches.list()).data).toEqual([]);
  expect((await other.files.list()).data).toEqual([]);
});

test('lists have the newest first, page by page', async () => {
  const made = [];
  for (const name of ['a', 'b', 'c']) made.unshift((await batchOf([lineOf(name)])).id);
  const listed = [];
  for await (const batch of client.batches.list({ limit: 2 })) listed.push(batch.id);
  expect(listed).toEqual(made);
  for (const id of made) await ended(id);
  const inputs = [];
  for await (const file of client.files.list({ purpose: 'batch', limit: 2 })) inputs.push(file.purpose);
  expect(inputs).toEqual(['batch', 'batch', 'batch']);
});

test('a batch that is cancelled begins no more lines, finishes what is at a provider, and accounts for every line', async () => {
  const gate = createGate();
  const lines = Array.from({ length: 60 }, (_, n) => lineOf(`${n}`));
  for (let n = 0; n < 60; n += 1) simulator.script(CHAT, { stallAfter: 0, resume: gate.opened });
  const { id } = await batchOf(lines);
  await waitFor(() => simulator.requests.length === 16);
  expect(await client.batches.retrieve(id)).toMatchObject({ status: 'in_progress' });
  const cancelling = await client.batches.cancel(id);
  expect(cancelling.status).toBe('cancelling');
  gate.open();
  const batch = await ended(id);
  expect(batch).toMatchObject({ status: 'cancelled', request_counts: { total: 60 } });
  const done = await linesIn(batch.output_file_id);
  const failed = await linesIn(batch.error_file_id);
  expect([...named(done), ...named(failed)].toSorted()).toEqual(named(lines).toSorted());
  expect(new Set(failed.map(({ error }) => error?.code))).toEqual(new Set(['batch_cancelled']));
  expect(done).toHaveLength(simulator.requests.length);
  await atRest();
  const billed = (await records(done.length)).filter(({ consumption }) => consumption.outputTokens > 0);
  expect(billed).toHaveLength(done.length);
});

test('a batch that is cancelled before it has begun ends without a result', async () => {
  const waiting = await text.batches.records.openBefore(Date.now() + 1000);
  expect(waiting).toEqual([]);
  const { id } = await batchOf([lineOf('a')]);
  await client.batches.cancel(id);
  expect(await ended(id)).toMatchObject({ status: 'cancelled' });
});

test('where the budget ends in the middle, the rest of the lines fails with that', async () => {
  // Each costs 21 000 µ$ at most, and less than that.
  text.identities.set(keyId, { accounts: [budgetOf(60_000)] });
  const lines = Array.from({ length: 40 }, (_, n) => lineOf(`${n}`));
  const batch = await ended((await batchOf(lines)).id);
  const done = await linesIn(batch.output_file_id);
  const failed = await linesIn(batch.error_file_id);
  expect(done.length).toBeGreaterThan(0);
  expect([...named(done), ...named(failed)].toSorted()).toEqual(named(lines).toSorted());
  for (const { response } of failed)
    expect(response).toMatchObject({ status_code: 429, body: { error: { code: 'insufficient_quota' } } });
  expect(simulator.requests).toHaveLength(done.length);
  const spent = (await records(done.length)).reduce((sum, { costMicroUsd }) => sum + (costMicroUsd ?? 0), 0);
  expect(spent).toBeLessThanOrEqual(60_000);
  await atRest();
});

test('a key that is revoked meanwhile begins no more lines', async () => {
  const gate = createGate();
  const lines = Array.from({ length: 20 }, (_, n) => lineOf(`${n}`));
  for (let n = 0; n < 20; n += 1) simulator.script(CHAT, { stallAfter: 0, resume: gate.opened });
  const { id } = await batchOf(lines);
  await waitFor(() => simulator.requests.length === 16);
  text.identities.set(keyId, null);
  gate.open();
  const batch = await ended(id);
  const failed = await linesIn(batch.error_file_id);
  expect(failed.every(({ response }) => response?.status_code === 401)).toBe(true);
  expect(failed.length + simulator.requests.length).toBe(20);
});

test('lines wait for a limit, of which one asks at a time, and are all done when it lets them', async () => {
  const { meter } = text.batches;
  const begin = meter.begin.bind(meter);
  let [asked, most, refused] = [0, 0, 0];
  const limited = vi.spyOn(meter, 'begin').mockImplementation(async (demand) => {
    if (demand.subject.endpoint !== 'chat') return begin(demand);
    asked += 1;
    try {
      // The first ones come together. All that are refused wait from then on.
      if (refused < 16 + 5) {
        refused += 1;
        if (refused > 16) most = Math.max(most, asked);
        await new Promise(setImmediate);
        throw new GatewayError('rate_limited_tokens', { message: 'Too many.', retryAfterSeconds: 0.02 });
      }
      return await begin(demand);
    } finally {
      asked -= 1;
    }
  });
  const lines = Array.from({ length: 16 }, (_, n) => lineOf(`line ${n}`));
  const batch = await ended((await batchOf(lines)).id);
  limited.mockRestore();
  expect(batch.request_counts).toEqual({ total: 16, completed: 16, failed: 0 });
  expect(most).toBe(1);
  expect(await records(16)).toHaveLength(16);
  await atRest();
});

test('a line that its provider has not begun is tried again, and is billed once', async () => {
  const overloaded = { error: { message: 'Too busy.', type: 'server_error', code: 'overloaded' } };
  simulator.script(CHAT, { status: 503, json: overloaded });
  const batch = await ended((await batchOf([lineOf('one')])).id);
  expect(batch.request_counts).toEqual({ total: 1, completed: 1, failed: 0 });
  expect(simulator.requests.filter(({ path }) => path === CHAT)).toHaveLength(2);
  expect(await records(1)).toMatchObject([{ outcome: 'ok', attempts: 2 }]);
  await atRest();
});
