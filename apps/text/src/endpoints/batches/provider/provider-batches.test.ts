import Anthropic from '@anthropic-ai/sdk';
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
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { startText, type TextUnderTest } from '../../../testing/start-text.ts';

/** Batches that a channel's provider does, through the official clients of both faces. */

let server: TestRedis;
let redis: Redis;
let simulator: Simulator;
let text: TextUnderTest;
let keyId: string;
let keys = 0;

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
  simulator = await startSimulator({ apiKeys: ['k'] });
  const channel = `{ provider: simulator, baseUrl: "${simulator.url}", apiKey: k, batches: provider }`;
  const price = '{ inputPerMTok: 10, outputPerMTok: 100 }';
  text = await startText({
    redis,
    configuration: `
channels:
  whole: ${channel}
  usual: { provider: simulator, baseUrl: "${simulator.url}", apiKey: k }
models:
  big: { kind: text, maxOutputTokens: 1000, price: ${price}, routes: [{ channel: whole, model: big-at-provider }] }
  other: { kind: text, maxOutputTokens: 1000, price: ${price}, routes: [{ channel: whole }] }
  elsewhere: { kind: text, maxOutputTokens: 1000, price: ${price}, routes: [{ channel: usual }] }
`,
  });
  await text.startLineWorker();
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

async function batchOf(lines: readonly unknown[], endpoint: Endpoint = CHAT) {
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
const LIVE = [CHAT, RESPONSES, '/v1/messages'];
/** What the simulated provider has of it when it is over: nothing. */
async function nothingLeft() {
  const key = { authorization: 'Bearer k' };
  const files = await (await fetch(`${simulator.baseUrl}/files`, { headers: key })).json();
  expect(files).toMatchObject({ data: [] });
}
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
      expect(response).toMatchObject({ status_code: 200, body: { model: 'big' } });
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
