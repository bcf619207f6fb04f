import { GatewayError } from '@gateway/contracts/gateway-error';
import type { FoundJob } from '@gateway/jobs/records/find-job';
import { newJobId } from '@gateway/jobs/redis/job-keys';
import { createByteBudget } from '@gateway/jobs/worker/byte-budget';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { waitFor } from '@gateway/testkit/wait-for';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { LineJournal } from '../../batches/line-journal.ts';
import { newFileId } from '../../batches/stored-files.ts';
import { startText, type TextUnderTest } from '../../testing/start-text.ts';
import { linesOf } from './batch-lines.ts';
import { collectBatch, finishIfOver } from './collect-batch.ts';
import { LinePlaces } from './line-places.ts';
import { startBatchSweeping } from './open-batches.ts';
import { runLines } from './run-lines.ts';
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

const runningJob = (id: string): FoundJob => ({
  id,
  kind: 'text.batch',
  keyId: 'key_one',
  model: 'by-chat',
  status: 'in_progress',
  createdAtMs: 0,
  startedAtMs: 0,
  finishedAtMs: 0,
  error: null,
  expiresAtMs: null,
});

const journalOf = (batchId: string) => {
  const { journals: store, onError } = text.batches;
  return LineJournal.open({ store, batchId, signal: NEVER, onError });
};

test('what a line has made is not lost where its store is away while results are put together', async () => {
  const { id } = await begunBatch(['a']);
  const answer = { status: 200, body: '{"object":"chat.completion"}' };
  await (await journalOf(id)).finish(0, { type: 'succeeded', answer }, null);
  const { journals } = text.batches;
  const away = new GatewayError('service_unavailable', 'The store is away.');
  const known = new Set<string>();
  // What has become of lines is known; what they came to cannot be read.
  const open: typeof journals.open = async (one, range) => {
    if (known.has(one)) throw away;
    known.add(one);
    return journals.open(one, range);
  };
  const service = { ...text.batches, journals: { ...journals, open } };
  const asked = { reason: { status: 'completed' }, signal: NEVER } as const;
  await expect(collectBatch(service, id, asked)).rejects.toMatchObject({ code: 'service_unavailable' });
  expect((await text.batches.records.find(id))?.end).toBeNull();
  expect(await collectBatch(text.batches, id, asked)).toMatchObject({ counts: { completed: 1, failed: 0 } });
});

test('a batch whose lines nobody can read any more ends all the same', async () => {
  const { id, fileId } = await begunBatch(['a', 'b']);
  await text.batches.files.remove(fileId);
  await finishIfOver(text.batches, id);
  expect((await text.batches.records.find(id))?.end).toMatchObject({
    status: 'failed',
    counts: { total: 2, completed: 0, failed: 2 },
    problems: [{ message: expect.stringContaining(fileId) }],
  });
});

test('the file of a batch is kept for as long as the batch has not ended', async () => {
  const { id, fileId, keyId } = await begunBatch(['a']);
  const { files, queue } = text.batches;
  const running = runningJob(id);
  await finishIfOver({ ...text.batches, queue: { ...queue, find: async () => running } }, id);
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
  const running = runningJob(id);
  const cancelled: string[] = [];
  const cancelLater = async (job: { readonly id: string }) => void cancelled.push(job.id);
  await finishIfOver({ ...text.batches, queue: { ...queue, find: async () => running, cancelLater } }, id);
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
  await finishIfOver(text.batches, id);
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
  const { services, meter } = text.batches;
  const limited = new GatewayError('rate_limited', { message: 'Too many.', retryAfterSeconds: 30 });
  const endpoints = textLines(services, CHAT, { requestId: 'req', headers: {}, label: 'batch' });
  const untilMs = Date.now() + 300;
  const journal = await journalOf(id);
  const lines = linesOf(text.batches, fileId, { signal: NEVER });
  await runLines(
    {
      ...text.batches,
      meter: { ...meter, begin: () => Promise.reject(limited) },
      places: new LinePlaces(4),
      lineMemory: { bodies: createByteBudget(1_000_000), answers: createByteBudget(1_000_000) },
      drainTimeoutMs: 0,
    },
    { journal, lines, total: 3, untilMs, endpoints },
    { jobId: id, keyId, requestId: 'req', signal: NEVER, ending: NEVER },
  );
  expect(Date.now()).toBeGreaterThanOrEqual(untilMs);
  expect(journal.counts).toEqual({ completed: 0, failed: 0 });
});
