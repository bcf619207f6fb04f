import { openAssetStores } from '@gateway/assets/open-asset-stores';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import type { ContentRule } from '@gateway/upstream/configuration/content-log';
import { expect, onTestFinished, test } from 'vitest';
import { chooseContent } from './choose-content.ts';
import { createContentLog } from './content-log.ts';
import { openContentStores } from './content-store.ts';
import { withJobContent } from './job-content.ts';

const HOUR_MS = 3_600_000;
const RULE: ContentRule = { keys: null, teams: null, models: null, share: 1, redact: [], mayOptOut: false };
const conversations = {
  ...{ retentionMs: 1, maxBytesPerKey: 0, maxChainLength: 1, maxChainBytes: 1, sharingTeams: [] },
  neverKept: { keys: ['key_never'], models: [] },
};
const under = (...rules: Partial<ContentRule>[]) => ({
  conversations,
  contentLog: {
    ...{ retentionMs: 1000, maxBytes: 1000, patterns: {}, readers: [] },
    rules: rules.map((rule) => ({ ...RULE, ...rule })),
  },
});
const request = (id: string, keyId = 'key_a') => ({
  ...{ identity: { keyId, team: null }, model: 'gpt-5', headers: {}, id },
});

test('a share is chosen by the request alone, and a larger share has all of a smaller one', () => {
  const ids = Array.from({ length: 2000 }, (_, index) => `req_${index}`);
  const chosen = (share: number) =>
    ids.filter((id) => {
      const choice = chooseContent(under({ share }), request(id));
      return choice !== null && 'rule' in choice;
    });
  const tenth = chosen(0.1);
  expect(tenth.length).toBeGreaterThan(140);
  expect(tenth.length).toBeLessThan(260);
  expect(chosen(0.1)).toEqual(tenth);
  expect(chosen(0.5)).toEqual(expect.arrayContaining(tenth));
  expect([chosen(0).length, chosen(1).length]).toEqual([0, ids.length]);
});

test('the first rule that fits counts; nothing that is never kept is logged', () => {
  const settings = under({ keys: ['key_a'], share: 0 }, {});
  expect(chooseContent(settings, request('req_1'))).toEqual({ omitted: 'share' });
  expect(chooseContent(settings, request('req_1', 'key_b'))).toMatchObject({ rule: { share: 1 } });
  expect(chooseContent(settings, request('req_1', 'key_never'))).toBeNull();
  expect(chooseContent(under({ teams: ['search'] }), request('req_1'))).toBeNull();
});

test('objects are deleted when their time is over, by the hour of their lines, under the retention of the moment', async () => {
  const folder = await temporaryFolder();
  onTestFinished(() => folder.close());
  const stores = await openContentStores(await openAssetStores({ url: folder.path }));
  const store = stores.lines;
  const [begun, named] = [Date.parse('2026-11-27T02:00:00Z'), '2026-11-27_02_deadbeef_1.gz'];
  await store.put(named, Buffer.from('x'));
  let retentionMs = 10 * HOUR_MS;
  const log = createContentLog({
    configuration: () => ({ ...under(), contentLog: { ...under().contentLog, retentionMs } }),
    dataDir: folder.path,
    openStores: async () => stores,
    now: () => begun + 9 * HOUR_MS,
    createMetrics: () => ({ written: () => undefined, lost: () => undefined }),
    report: () => undefined,
  });
  expect(await log.sweep()).toBe(0);
  retentionMs = 7 * HOUR_MS;
  // One that was written anew since then is as old as its lines.
  expect((await store.head(named))?.storedAtMs).toBeGreaterThan(begun);
  expect(await log.sweep()).toBe(1);
  expect(await store.head(named)).toBeUndefined();
});

test('what is logged beside a job that is under way does not wait for the job', async () => {
  const folder = await temporaryFolder();
  onTestFinished(() => folder.close());
  const stores = await openContentStores(await openAssetStores({ url: folder.path }));
  const store = stores.lines;
  const log = createContentLog({
    configuration: () => under({}),
    dataDir: folder.path,
    openStores: async () => stores,
    now: () => Date.parse('2026-11-27T02:00:00Z'),
    createMetrics: () => ({ written: () => undefined, lost: () => undefined }),
    report: () => undefined,
  });
  const noted: unknown[] = [];
  const job = (jobId: string, work: Promise<{ readonly channel: string }>) => {
    const context = {
      ...{ jobId, requestId: jobId, keyId: 'key_a', team: null, contentLog: undefined },
      consumed: () => undefined,
      noted: (detail: unknown) => void noted.push(detail),
      isTriedAgain: () => false,
    };
    const content = { endpoint: 'images', request: () => ({}), answer: () => ({}) };
    return withJobContent(log, { ...content, input: { model: 'dall-e-3' }, context }, () => work);
  };
  const long = Promise.withResolvers<{ readonly channel: string }>();
  const underway = job('job_long', long.promise);
  await job('job_short', Promise.resolve({ channel: 'one' }));
  await log.close();
  const objects: unknown[] = [];
  for await (const { id } of store.list()) objects.push({ contentObject: id });
  expect(objects).toEqual(noted);
  expect(noted).toHaveLength(1);
  long.resolve({ channel: 'one' });
  await underway;
  await log.close();
});
