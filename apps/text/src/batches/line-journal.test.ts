import { Readable } from 'node:stream';
import type { AssetStore } from '@gateway/assets/asset-store';
import { openFolderStore } from '@gateway/assets/folder-store';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { NOTHING_CONSUMED, type UsageResult } from '@gateway/contracts/usage/usage-record';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { JournalTaken, LineJournal } from './line-journal.ts';

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let store: AssetStore;
let batches = 0;

beforeAll(async () => {
  folder = await temporaryFolder();
  store = await openFolderStore(folder.path);
});
afterAll(() => folder.close());

const NEVER = new AbortController().signal;
const newBatchId = () => {
  batches += 1;
  return `job_${String(batches).padStart(32, '0')}`;
};
const open = (batchId: string, over: AssetStore = store) =>
  LineJournal.open({ store: over, batchId, signal: NEVER, onError: () => undefined });
const free = async () => undefined;

const usage = (costMicroUsd: number): UsageResult => ({
  outcome: 'ok',
  channel: 'chat',
  attempts: 1,
  durationMs: 1,
  firstByteMs: null,
  consumption: { ...NOTHING_CONSUMED, inputTokens: 3, outputTokens: 4 },
  estimated: false,
  costMicroUsd,
});
const subjectOf = (index: number) => ({
  ...{ id: `line_${index}`, keyId: 'key_one', team: null, endpoint: 'chat', model: 'gpt', startedAtMs: 1 },
  requestId: 'req_one',
});
const metering = (index: number) => ({ subject: subjectOf(index), estimate: usage(100) });
const settlement = (index: number) => ({ subject: subjectOf(index), result: usage(7) });
const answered = (body: string) => ({ type: 'succeeded', answer: { status: 200, body } }) as const;
const refused = {
  type: 'errored',
  error: new GatewayError('invalid_value', { path: ['model'], message: 'There is no such model.' }),
} as const;

test('who goes on with a batch knows what was begun, how lines have ended, and what is still to be put down', async () => {
  const id = newBatchId();
  const first = await open(id);
  await first.extend(10);
  await Promise.all([0, 1, 2, 3].map((index) => first.begin(index, metering(index))));
  await Promise.all([
    first.finish(0, answered('{"zero":"ß"}'), settlement(0)),
    first.finish(2, answered('{"two":2}'), settlement(2)),
    first.finish(5, refused, null),
  ]);
  first.settled(0);
  first.notBegun(3, metering(3), usage(1));
  await first.close();

  const second = await open(id);
  expect(second.isEmpty).toBe(false);
  expect(second.reach).toBe(10);
  expect([...second.begunLines]).toEqual([[1, metering(1)]]);
  expect([...second.unsettled]).toEqual([[2, settlement(2)]]);
  expect(second.usedBefore(3)).toMatchObject({ costMicroUsd: 1 });
  expect(second.counts).toEqual({ completed: 2, failed: 1 });
  expect(second.end(2)).toMatchObject({ type: 'succeeded', tokens: { inputTokens: 3, outputTokens: 4 } });
  expect(second.end(1)).toBeUndefined();
  expect(await second.read(0, free)).toEqual(answered('{"zero":"ß"}'));
  expect(await second.read(2, free)).toEqual(answered('{"two":2}'));
  expect(await second.read(5, free)).toMatchObject({
    type: 'errored',
    error: { code: 'invalid_value', options: { path: ['model'] } },
  });
});

test('who has lost a batch to another learns of it before it begins a line, and puts nothing down any more', async () => {
  const id = newBatchId();
  const first = await open(id);
  await first.begin(0, metering(0));
  const second = await open(id);
  expect([...second.begunLines.keys()]).toEqual([0]);
  await expect(first.begin(1, metering(1))).rejects.toThrow(JournalTaken);
  await expect(first.finish(0, answered('{}'), settlement(0))).rejects.toThrow(JournalTaken);
  await first.close();
  await second.finish(0, refused, null);
  expect((await open(id)).end(0)).toMatchObject({ errorCode: 'invalid_value' });
});

test('who was not heard of until another had ended the batch begins no line of it', async () => {
  const id = newBatchId();
  const first = await open(id);
  await first.begin(0, metering(0));
  const second = await open(id);
  await second.finish(0, refused, null);
  await second.close();
  await second.delete();
  await expect(first.begin(1, metering(1))).rejects.toThrow(JournalTaken);
});

test('a line that is begun while another takes the batch is either not begun, or known to the other', async () => {
  for (let round = 0; round < 20; round += 1) {
    const id = newBatchId();
    const first = await open(id);
    const beginning = first.begin(0, metering(0)).then(
      () => true,
      () => false,
    );
    const second = await open(id);
    if (await beginning) expect([...second.begunLines.keys()]).toEqual([0]);
    await first.close();
  }
});

test('of several that open a batch at the same time one has it', async () => {
  const id = newBatchId();
  const all = await Promise.all(Array.from({ length: 6 }, () => open(id)));
  const begun = await Promise.allSettled(all.map((journal, index) => journal.begin(index, metering(index))));
  expect(begun.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
});

test('what has been paid for is kept when its store is full, or takes nothing for a moment', async () => {
  const id = newBatchId();
  const failures = [new GatewayError('storage_full', 'Not now.'), new Error('AccessDenied')];
  const left = [...failures];
  const seen: unknown[] = [];
  const put: AssetStore['put'] = async (...given) => {
    const failure = left.shift();
    if (failure !== undefined) throw failure;
    return store.put(...given);
  };
  const journal = await LineJournal.open({
    ...{ store: { ...store, put }, batchId: id, signal: NEVER },
    onError: (error) => seen.push(error),
  });
  await journal.finish(0, answered('{}'), settlement(0));
  expect(seen).toEqual(failures);
  expect((await open(id)).end(0)).toMatchObject({ type: 'succeeded' });
});

test('what has become of lines is read again where that breaks off, and is not taken for lost', async () => {
  const id = newBatchId();
  const first = await open(id);
  await first.finish(0, answered('{"zero":0}'), settlement(0));
  let broken = 1;
  const openBroken: AssetStore['open'] = async (one, range) => {
    const asset = await store.open(one, range);
    if (asset === undefined || broken === 0) return asset;
    broken -= 1;
    await asset.close();
    const failure = new Error('socket hang up');
    const stream = () =>
      new Readable({
        read() {
          this.destroy(failure);
        },
      });
    return { ...asset, stream, bytes: () => Promise.reject(failure) };
  };
  const second = await open(id, { ...store, open: openBroken });
  expect(second.end(0)).toMatchObject({ type: 'succeeded' });
  broken = 1;
  await expect(second.read(0, free)).rejects.toMatchObject({ code: 'service_unavailable' });
  expect(await second.read(0, free)).toEqual(answered('{"zero":0}'));
});

test('answers of many megabytes are kept, and nothing is left of a batch that is over', async () => {
  const id = newBatchId();
  const journal = await open(id);
  const body = JSON.stringify({ text: 'ü'.repeat(600_000) });
  await Promise.all([0, 1].map((index) => journal.finish(index, answered(body), settlement(index))));
  await journal.close();
  const again = await open(id);
  expect(await again.read(1, free)).toEqual(answered(body));
  await again.delete();
  for await (const { id: left } of store.list({ prefix: id })) expect(left).toBeUndefined();
});
