import { GatewayError } from '@gateway/contracts/gateway-error';
import { NOTHING_CONSUMED } from '@gateway/contracts/usage/usage-record';
import type { FoundJob } from '@gateway/jobs/records/find-job';
import { lineJobId, newJobId } from '@gateway/jobs/redis/job-keys';
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
import { runTextBatch } from './run-batch.ts';
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

test('journals that nobody needs are deleted, for which not all are listed each time', async () => {
  let [files, journals] = [0, 0];
  const service = {
    ...text.batches,
    records: { ...text.batches.records, openBefore: async () => [] },
    files: { ...text.batches.files, sweep: async () => (files += 1) },
    journals: { ...text.batches.journals, sweep: async () => (journals += 1) },
  };
  const sweeping = startBatchSweeping(service, { everyMs: 5, journalsEveryMs: 200 });
  await waitFor(() => journals > 0);
  await sweeping.close();
  expect(journals).toBe(1);
  expect(files).toBeGreaterThan(5);
});

type Runner = Parameters<typeof runLines>[0];
const runner = (more: Partial<Runner> = {}): Runner => ({
  ...text.batches,
  places: new LinePlaces(4),
  lineMemory: { bodies: createByteBudget(1_000_000), answers: createByteBudget(1_000_000) },
  drainTimeoutMs: 0,
  ...more,
});

interface LinesRun {
  readonly journal: LineJournal;
  readonly total: number;
  readonly untilMs?: number;
  readonly signal?: AbortSignal;
}
const doLines = (
  service: Runner,
  { id, fileId, keyId }: Awaited<ReturnType<typeof begunBatch>>,
  { journal, total, untilMs = Date.now() + DAY_MS, signal = NEVER }: LinesRun,
) => {
  const { services } = text.batches;
  const endpoints = textLines(services, CHAT, { requestId: 'req', headers: {}, label: 'batch' });
  const lines = linesOf(text.batches, fileId, { signal });
  const context = { jobId: id, keyId, requestId: 'req', signal, ending: signal };
  return runLines(service, { journal, lines, total, untilMs, endpoints }, context);
};

const limited = new GatewayError('rate_limited', { message: 'Too many.', retryAfterSeconds: 30 });

test('lines that a limit does not let in before the time is over are not begun, and have not failed by it', async () => {
  const batch = await begunBatch(['a', 'b', 'c']);
  const untilMs = Date.now() + 300;
  const journal = await journalOf(batch.id);
  const meter = { ...text.batches.meter, begin: () => Promise.reject(limited) };
  await doLines(runner({ meter }), batch, { journal, total: 3, untilMs });
  expect(Date.now()).toBeGreaterThanOrEqual(untilMs);
  expect(journal.counts).toEqual({ completed: 0, failed: 0 });
});

test('lines that wait for a place when the time is over are not begun', async () => {
  const batch = await begunBatch(['a']);
  const journal = await journalOf(batch.id);
  const begin = vi.spyOn(journal, 'begin');
  const untilMs = Date.now() + 300;
  const places = new LinePlaces(1);
  const place = await places.take({ keyId: 'key_other', share: {} }, NEVER);
  const done = doLines(runner({ places }), batch, { journal, total: 1, untilMs });
  await waitFor(() => Date.now() >= untilMs);
  place[Symbol.dispose]();
  await done;
  expect(begin).not.toHaveBeenCalled();
  expect(journal.counts).toEqual({ completed: 0, failed: 0 });
});

test('a line that its key’s limits hold back has no share of the memory that lines of others need', async () => {
  const batch = await begunBatch(['a']);
  const journal = await journalOf(batch.id);
  const refused = vi.fn(() => Promise.reject(limited));
  const stopping = new AbortController();
  // Which one line fills.
  const bodies = createByteBudget(1);
  const service = runner({
    meter: { ...text.batches.meter, begin: refused },
    lineMemory: { bodies, answers: createByteBudget(1) },
  });
  const done = doLines(service, batch, { journal, total: 1, signal: stopping.signal });
  await waitFor(() => refused.mock.calls.length > 0);
  using loan = await bodies.take(1, AbortSignal.timeout(1000));
  expect(loan.bytes).toBe(1);
  stopping.abort(new Error('stopped'));
  await expect(done).rejects.toThrow('stopped');
});

test('a line that is refused gives back what a run before had reserved for it, and costs what it had used', async () => {
  const batch = await begunBatch(['a', 'b']);
  const { id, keyId } = batch;
  const used = { channel: 'chat', attempts: 1, estimated: false, costMicroUsd: 5 };
  const usage = { ...used, consumption: { ...NOTHING_CONSUMED, inputTokens: 1 } };
  const before = await journalOf(id);
  await before.extend(2);
  const about = { id: lineJobId(id, 1), keyId, team: null, endpoint: 'chat', model: 'by-chat' } as const;
  const metering = {
    subject: { ...about, requestId: 'req', startedAtMs: Date.now() },
    estimate: { ...usage, costMicroUsd: 100, outcome: 'ok', durationMs: 0, firstByteMs: null } as const,
  };
  await before.begin(1, metering);
  before.notBegun(1, metering, usage);
  await before.close();

  const { meter } = text.batches;
  const released: string[] = [];
  const settled: [id: string, costMicroUsd: number | null][] = [];
  const service = runner({
    // It has been revoked.
    readIdentity: async () => undefined,
    meter: {
      ...meter,
      resume: (subject) => ({
        ...meter.resume(subject),
        release: async () => void released.push(subject.id),
      }),
      settleOnce: async (subject, { costMicroUsd }) => settled.push([subject.id, costMicroUsd]) > 0,
    },
  });
  const journal = await journalOf(id);
  await doLines(service, batch, { journal, total: 2 });
  expect(journal.counts).toEqual({ completed: 0, failed: 2 });
  expect(released).toEqual([lineJobId(id, 0)]);
  expect(settled).toEqual([[lineJobId(id, 1), 5]]);
});

/** As its worker runs it. */
async function runJob(
  { id }: { readonly id: string },
  journals: Partial<typeof text.batches.journals>,
  more: Partial<Runner> = {},
) {
  const batch = await text.batches.records.find(id);
  if (batch === undefined) throw new Error(`no batch ${id}`);
  const {
    keyId,
    model,
    face,
    endpoint,
    fileId,
    lines,
    createdAtMs,
    untilMs,
    metadata,
    resultSeconds,
    headers,
  } = batch;
  const input = {
    model,
    face,
    endpoint,
    fileId,
    createdAtMs,
    untilMs,
    metadata,
    resultSeconds,
    headers,
    lines,
  };
  const service = runner({ ...more, maxLines: 10, journals: { ...text.batches.journals, ...journals } });
  const context = { jobId: id, requestId: 'req', keyId, team: null, attempt: 1 };
  return await runTextBatch(service).run(input, {
    ...{ ...context, signal: NEVER, closing: NEVER },
    emit: async () => undefined,
    consumed: () => undefined,
    noted: () => undefined,
    isTriedAgain: () => false,
    account: async () => undefined,
    aside: (wait) => wait(),
  });
}

test('a batch that another process ends while its journal is opened is not done again', async () => {
  const batch = await begunBatch(['a']);
  const begin = vi.fn(() => Promise.reject(new Error('a line was taken')));
  const putNew: typeof text.batches.journals.putNew = async (...given) => {
    await finishIfOver(text.batches, batch.id);
    return text.batches.journals.putNew(...given);
  };
  const meter = { ...text.batches.meter, begin };
  expect(await runJob(batch, { putNew }, { meter })).toEqual({
    counts: { total: 1, completed: 0, failed: 1 },
  });
  expect(begin).not.toHaveBeenCalled();
});

test('a batch is gone on with when there is space for its journal again', async () => {
  const batch = await begunBatch(['a']);
  const full = [new GatewayError('storage_full', 'There is no space.')];
  const putNew: typeof text.batches.journals.putNew = async (...given) => {
    const failure = full.pop();
    if (failure !== undefined) throw failure;
    return text.batches.journals.putNew(...given);
  };
  const readIdentity = async () => undefined;
  expect(await runJob(batch, { putNew }, { readIdentity })).toMatchObject({ counts: { failed: 1 } });
  expect(full).toEqual([]);
});
