import { GatewayError } from '@gateway/contracts/gateway-error';
import type { FoundJob } from '@gateway/jobs/records/find-job';
import { lineJobId, newJobId } from '@gateway/jobs/redis/job-keys';
import { runLines } from '@gateway/model-service/batch/run-batch';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { waitFor } from '@gateway/testkit/wait-for';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { newFileId } from '../../batches/stored-files.ts';
import { startText, type TextUnderTest } from '../../testing/start-text.ts';
import { linesOf } from './batch-lines.ts';
import type { TextBatchService, TextJob } from './batch-service.ts';
import { collectBatch, finishBatch } from './collect-batch.ts';
import { startBatchSweeping } from './open-batches.ts';
import { textLines } from './text-lines.ts';

/** What ends batches, whatever has become of their runs, their files and the stores. */

let server: TestRedis;
let redis: Redis;
let text: TextUnderTest;

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
  text = await startText({
    redis,
    configuration: `
channels:
  chat: { provider: openai-compatible, baseUrl: "http://127.0.0.1:1", apiKey: k, speaks: [chat] }
models:
  by-chat: { kind: text, routes: [{ channel: chat }] }
`,
  });
});
afterAll(async () => {
  await text.close();
  redis.disconnect();
  await server.close();
});

const CHAT = '/v1/chat/completions';
const NEVER = new AbortController().signal;
const DAY_MS = 86_400_000;

/** A batch whose job is in no queue. */
async function begunBatch(names: readonly string[], untilMs = Date.now() + DAY_MS) {
  const { files, records } = text.batches;
  const [id, fileId, keyId, nowMs] = [newJobId(), newFileId(), 'key_one', Date.now()];
  const body = { model: 'by-chat', messages: [{ role: 'user', content: 'Hello.' }] };
  const lines = names.map((custom_id) => JSON.stringify({ custom_id, method: 'POST', url: CHAT, body }));
  await files.put(
    {
      id: fileId,
      keyId,
      filename: 'lines.jsonl',
      purpose: 'batch',
      createdAtMs: nowMs,
      expiresAtMs: nowMs + DAY_MS,
      isListed: true,
    },
    Buffer.from(lines.join('\n')),
  );
  await records.create(id, {
    keyId,
    model: 'lines.jsonl',
    face: 'openai',
    endpoint: CHAT,
    fileId,
    lines: names.length,
    createdAtMs: nowMs,
    untilMs,
    metadata: null,
    resultSeconds: 3600,
    headers: {},
  });
  return { id, fileId, keyId };
}

const done = (id: string): FoundJob => ({
  id,
  kind: 'text.line',
  keyId: 'key_one',
  model: 'by-chat',
  status: 'completed',
  createdAtMs: 0,
  startedAtMs: 0,
  finishedAtMs: 0,
  error: null,
  expiresAtMs: null,
});

test('what a line has made is not lost where its store is away while results are put together', async () => {
  const { id } = await begunBatch(['a']);
  const away = new GatewayError('service_unavailable', 'The store is away.');
  const unread = new GatewayError('internal', {
    message: 'The job was done, but its result cannot be read.',
    cause: new Error('', { cause: away }),
  });
  const { queue } = text.batches;
  const service: TextBatchService = {
    ...text.batches,
    queue: { ...queue, find: async (jobId) => done(jobId), outputOf: () => Promise.reject(unread) },
  };
  await expect(collectBatch(service, id, { status: 'completed' }, NEVER)).rejects.toMatchObject({
    code: 'service_unavailable',
  });
  expect((await text.batches.records.find(id))?.end).toBeNull();
});

test('a batch whose lines nobody can read any more ends all the same', async () => {
  const { id, fileId } = await begunBatch(['a', 'b']);
  await text.batches.files.remove(fileId);
  await finishBatch(text.batches, id);
  expect((await text.batches.records.find(id))?.end).toMatchObject({
    status: 'failed',
    counts: { total: 2, completed: 0, failed: 2 },
    problems: [{ message: expect.stringContaining(fileId) }],
  });
});

test('the file of a batch is kept for as long as the batch has not ended', async () => {
  const { id, fileId, keyId } = await begunBatch(['a']);
  const { files, queue } = text.batches;
  const running: FoundJob = { ...done(id), kind: 'text.batch', status: 'in_progress' };
  await finishBatch({ ...text.batches, queue: { ...queue, find: async () => running } }, id);
  await files.remove(fileId);
  expect(await files.find(fileId, keyId)).toBeUndefined();
  const kept = await files.open(fileId);
  await kept?.close();
  expect(kept).toBeDefined();
});

test('a batch that its caller has cancelled is cancelled, also where Redis was away then', async () => {
  const { id } = await begunBatch(['a']);
  const { queue, records } = text.batches;
  await records.mark(id, 'cancellingAtMs', Date.now());
  const running: FoundJob = { ...done(id), kind: 'text.batch', status: 'in_progress' };
  const cancelled: string[] = [];
  const cancel = async (job: { readonly id: string }) => void cancelled.push(job.id);
  await finishBatch({ ...text.batches, queue: { ...queue, find: async () => running, cancel } }, id);
  expect(cancelled).toEqual([id]);
});

test('a batch that its caller has not learned of is not done', async () => {
  const keyId = 'key_unlearned';
  const away = new GatewayError('service_unavailable', 'Redis is away.');
  const find = vi.spyOn(text.batches.records, 'find').mockRejectedValueOnce(away);
  const requests = [{ custom_id: 'a', params: { model: 'by-chat', max_tokens: 1, messages: [] } }];
  const reply = await text.fetch('/v1/messages/batches', { body: { requests }, identity: { keyId } });
  find.mockRestore();
  expect(reply.status).toBe(529);
  const jobs = () => text.batches.queue.list({ area: 'batches', keyId, after: undefined, count: 10 });
  await waitFor(async () => (await jobs())?.records[0]?.status === 'cancelled');
});

test('a batch whose job has ended after its time has expired', async () => {
  const { id } = await begunBatch(['a'], Date.now() - 1);
  await finishBatch(text.batches, id);
  expect((await text.batches.records.find(id))?.end).toMatchObject({
    status: 'expired',
    outcomes: { expired: 1, errored: 0 },
  });
});

test('a batch that cannot be ended holds up neither other batches nor the deletion of files', async () => {
  const { id } = await begunBatch(['a']);
  const { records, files } = text.batches;
  let swept = 0;
  const sweeping = startBatchSweeping(
    {
      ...text.batches,
      onError: () => undefined,
      records: {
        ...records,
        openBefore: async () => ['broken', id],
        find: async (one) => {
          if (one === 'broken') throw new Error('it cannot be read');
          return records.find(one);
        },
      },
      files: {
        ...files,
        sweep: async () => {
          swept += 1;
          return 0;
        },
      },
    },
    { everyMs: 20 },
  );
  await waitFor(async () => swept > 0 && (await records.find(id))?.end);
  await sweeping.close();
});

test('lines that a limit does not let in before the time is over are not begun, and have not failed by it', async () => {
  const { id, fileId, keyId } = await begunBatch(['a', 'b', 'c']);
  const { queue, services } = text.batches;
  const full = new GatewayError('queue_full', { message: 'The queue is full.', retryAfterSeconds: 30 });
  const endpoints = textLines(services, CHAT, { requestId: 'req', headers: {}, label: 'batch' });
  const untilMs = Date.now() + 300;
  const counts = await runLines<TextJob, 'text.batch'>(
    { ...text.batches, endpoints, queue: { ...queue, reserveSlot: () => Promise.reject(full) } },
    { lines: linesOf(text.batches, fileId, { signal: NEVER }), total: 3, untilMs, strict: false },
    { jobId: id, keyId, requestId: 'req', signal: NEVER },
  );
  expect(Date.now()).toBeGreaterThanOrEqual(untilMs);
  expect(counts).toEqual({ total: 3, completed: 0, failed: 3 });
  for (const index of [0, 1, 2]) expect(await queue.find(lineJobId(id, index), keyId)).toBeUndefined();
});
