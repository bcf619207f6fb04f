import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { NOTHING_CONSUMED, type UsageResult, type UsageSubject } from '@gateway/contracts/usage/usage-record';
import { createLedger, type Ledger } from '@gateway/metering/ledger/ledger';
import { redisNames } from '@gateway/metering/redis-names';
import { requestIdOf } from '@gateway/service-kit/request/request-id';
import { readSse } from '@gateway/testkit/collect-sse';
import { beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { UsagePage } from '../api/schemas/traffic.ts';
import { runAdmin, TOKEN } from '../testing/run-admin.ts';
import { useAdmin } from '../testing/use-admin.ts';
import { RequestPage, RequestReply } from './shown-request.ts';

const Skipped = z.object({ count: z.number() });

let ledger: Ledger;

const admin = useAdmin();
beforeAll(() => {
  ledger = createLedger({ redis: admin.redis, now: Date.now, keepRecordsDays: 30 });
});

const get = (path: string, signal?: AbortSignal) =>
  fetch(`${admin.url}/admin/v1${path}`, {
    headers: { authorization: `Bearer ${TOKEN}` },
    ...(signal && { signal }),
  });
const pageOf = async (path: string) => RequestPage.parse(await (await get(path)).json());

async function settle(
  subject: Partial<UsageSubject> = {},
  result: Partial<UsageResult> = {},
): Promise<string> {
  const id = requestIdOf(undefined);
  await ledger.settle(
    {
      ...{ id, keyId: 'key_a', team: null, endpoint: 'responses', model: 'gpt-5' },
      ...{ startedAtMs: Date.now(), requestId: requestIdOf(undefined) },
      ...subject,
    },
    {
      ...{ outcome: 'ok', channel: 'openai', attempts: 1, durationMs: 900, firstByteMs: 412 },
      ...{ consumption: NOTHING_CONSUMED, estimated: false, costMicroUsd: 0 },
      ...result,
    },
  );
  return subject.id ?? id;
}

test('requests come the newest first, page by page, each one once', async () => {
  const ids: string[] = [];
  for (let count = 0; count < 7; count += 1) ids.unshift(await settle());
  const first = await pageOf('/requests?limit=3');
  const second = await pageOf(`/requests?limit=3&cursor=${first.next}`);
  const third = await pageOf(`/requests?limit=3&cursor=${second.next}`);
  expect([first, second, third].flatMap(({ data }) => data.map(({ id }) => id))).toEqual(ids);
  expect(third.next).toBeNull();
});

test('a request shows where its time went, each attempt, what was dropped and how its cost came about', async () => {
  const id = await settle(
    {},
    {
      attempts: 2,
      consumption: { ...NOTHING_CONSUMED, inputTokens: 1200, outputTokens: 40 },
      costMicroUsd: 2000,
      detail: {
        isStreamed: true,
        waitedMs: 15,
        upstreamMs: 380,
        attempts:
          '"one";account="b";outcome=rate-limited;status=429;ms=81, "two";outcome=ok;status=200;ms=380;hedge',
        dropped: 'top_k,thinking',
        hooks: 'pii/input=replaced;ms=12, tone/output=failed_open;ms=80;checks=4',
        unitPrices: { input: 1.25, output: 10 },
      },
    },
  );
  const shown = RequestReply.parse(await (await get(`/requests/${id}`)).json());
  expect(shown).toMatchObject({
    isStreamed: true,
    status: null,
    timing: { totalMs: 900, firstOutputMs: 412, queuedMs: null, waitedMs: 15, upstreamMs: 380 },
    attemptList: [
      { channel: 'one', account: 'b', outcome: 'rate-limited', status: 429, ms: 81, isHedge: false },
      { channel: 'two', account: 'default', outcome: 'ok', status: 200, ms: 380, isHedge: true },
    ],
    dropped: ['top_k', 'thinking'],
    hooks: [
      { hook: 'pii', side: 'input', result: 'replaced', checks: 1, ms: 12 },
      { hook: 'tone', side: 'output', result: 'failed_open', checks: 4, ms: 80 },
    ],
    cost: [
      { kind: 'input', amount: 1200, unitUsd: 1.25, microUsd: 1500 },
      { kind: 'output', amount: 40, unitUsd: 10, microUsd: 400 },
    ],
    otherMicroUsd: 100,
  });
});

test("a request is found by its caller's id, whoever chose it, by its own, and by a part in a list", async () => {
  const made = requestIdOf(undefined);
  const id = await settle({ requestId: made });
  for (let count = 0; count < 5; count += 1) await settle({ requestId: 'chosen-by-caller' });
  const job = await settle({ id: 'job_0123456789', requestId: requestIdOf(undefined) });
  for (const wanted of [made, id, job, 'chosen-by-caller']) {
    const shown = RequestReply.parse(await (await get(`/requests/${wanted}`)).json());
    expect([shown.id, shown.requestId]).toContain(wanted);
  }
  expect((await pageOf('/requests?id=by-caller')).data).toHaveLength(5);
  expect((await get(`/requests/${requestIdOf(undefined)}`)).status).toBe(404);
  expect((await get('/requests?id=%00')).status).toBe(400);
});

test('requests are filtered as usage is', async () => {
  await settle({ keyId: 'key_b', team: 'search' });
  await settle(
    { model: 'claude' },
    { outcome: 'failed', channel: null, detail: { status: 502, errorCode: 'upstream_failed' } },
  );
  await settle();
  expect((await pageOf('/requests?keyId=key_b&team=search')).data).toHaveLength(1);
  const failed = await pageOf('/requests?outcome=failed&channel=');
  expect(failed.data).toMatchObject([{ model: 'claude', status: 502, errorCode: 'upstream_failed' }]);
  for (const filter of [
    'errorCode=upstream_failed',
    'status=502',
    'failed=true',
    'minTotalMs=900&failed=true',
  ]) {
    expect((await pageOf(`/requests?${filter}`)).data, filter).toMatchObject([{ model: 'claude' }]);
    const exported = await (await get(`/usage/records?${filter}`)).text();
    expect(JSON.parse(exported), filter).toMatchObject({ errorCode: 'upstream_failed', status: 502 });
  }
  const causes = UsagePage.parse(await (await get('/usage?groupBy=errorCode&failed=true')).json());
  expect(causes.data).toMatchObject([{ errorCode: 'upstream_failed', failed: 1, requests: 1 }]);
  const { record } = await admin.keys.createKey({ name: 'one of ann', owner: 'Ann' });
  const ofAnn = record.id;
  await settle({ keyId: ofAnn, endUser: 'user-7', session: 'conv_1', label: 'nightly' });
  for (const filter of ['endUser=user-7', 'session=conv_1&label=nightly', 'owner=ann'])
    expect((await pageOf(`/requests?${filter}`)).data, filter).toMatchObject([
      { keyId: ofAnn, endUser: 'user-7', session: 'conv_1', label: 'nightly' },
    ]);
  const [named] = UsagePage.parse(await (await get('/usage?endUser=user-7&groupBy=minute')).json()).data;
  expect(named).toMatchObject({ requests: 1, refused: null, minute: expect.stringMatching(/:00Z$/) });
  expect((await get('/usage?groupBy=minute')).status).toBe(400);
  expect((await get('/requests?failed=yes')).status).toBe(400);
  expect((await pageOf('/requests?to=2020-01-01')).data).toEqual([]);
});

test('a record from before there were details is shown', async () => {
  const record = {
    ...{ id: 'req_old', keyId: 'key_a', team: null, endpoint: 'responses', model: 'gpt-5', startedAtMs: 1 },
    ...{ outcome: 'ok', channel: 'openai', attempts: 1, durationMs: 5, firstByteMs: null },
    ...{ consumption: NOTHING_CONSUMED, estimated: false, costMicroUsd: 7 },
  };
  const day = new Date().toISOString().slice(0, 10);
  await admin.redis.xadd(redisNames.records(day), '*', 'record', JSON.stringify(record));
  expect((await pageOf('/requests')).data).toMatchObject([
    { id: 'req_old', requestId: null, attemptList: [], cost: [], otherMicroUsd: 7 },
  ]);
});

test('usage has percentiles of the requests that ended well, null where nothing was measured', async () => {
  for (const durationMs of [100, 100, 100, 5000]) await settle({}, { durationMs, firstByteMs: null });
  await settle({ model: 'claude' }, { outcome: 'failed', durationMs: 60_000 });
  const page = UsagePage.parse(await (await get('/usage?groupBy=model')).json());
  const [claude, gpt] = page.data;
  expect(claude).toMatchObject({ totalMs: { p50: null, p95: null } });
  expect(gpt?.firstOutputMs).toEqual({ p50: null, p95: null });
  expect(gpt?.totalMs.p50).toBeLessThanOrEqual(100);
  expect(gpt?.totalMs.p95).toBeGreaterThan(3000);
});

test('a tail shows the wanted requests as they end, and no earlier ones', async () => {
  await settle({ keyId: 'key_b' });
  const events = readSse(await get('/requests/tail?keyId=key_b'));
  await settle();
  const id = await settle({ keyId: 'key_b' });
  const { value } = await events.next();
  expect(value?.event).toBe('request');
  expect(RequestReply.parse(value?.json)).toMatchObject({ id, keyId: 'key_b' });
  await events.return(undefined);
});

test('more requests than a tail shows at once are counted', async () => {
  const events = readSse(await get('/requests/tail'));
  await Promise.all(Array.from({ length: 300 }, () => settle()));
  let shown = 0;
  let skipped = 0;
  for await (const { event, json } of events) {
    if (event === 'skipped') skipped += Skipped.parse(json).count;
    else shown += 1;
    if (shown + skipped >= 300) break;
  }
  expect(shown + skipped).toBe(300);
});

test('no more than 32 readers are let in at once, and one that leaves makes room', async () => {
  const other = await runAdmin(admin.server.url, { GATEWAY_DATA_DIR: admin.dataFolder });
  const leaving = new AbortController();
  const open = (signal: AbortSignal) =>
    fetch(`${other.url}/admin/v1/requests/tail`, { headers: { authorization: `Bearer ${TOKEN}` }, signal });
  const others = await Promise.all(Array.from({ length: 33 }, () => open(leaving.signal)));
  const refused = others.filter(({ status }) => status !== 200);
  expect(refused.map(({ status }) => status)).toEqual([503]);
  expect(await refused[0]?.json()).toMatchObject({ error: { code: 'overloaded' } });
  leaving.abort();
  await expect
    .poll(
      async () => {
        const again = new AbortController();
        const { status } = await open(again.signal);
        again.abort();
        return status;
      },
      { timeout: 30_000 },
    )
    .toBe(200);
  await other.stop();
});

test('a tail ends when the service stops', async () => {
  const other = await runAdmin(admin.server.url, { GATEWAY_DATA_DIR: admin.dataFolder });
  const response = await fetch(`${other.url}/admin/v1/requests/tail`, {
    headers: { authorization: `Bearer ${TOKEN}` },
  });
  const reading = response.text();
  await other.stop();
  expect(await reading).toMatch(/^: open\n/);
});

test('a request is read in a terminal', async () => {
  const id = await settle(
    { requestId: 'req_of_a_caller' },
    {
      consumption: { ...NOTHING_CONSUMED, inputTokens: 1200 },
      costMicroUsd: 1500,
      detail: { upstreamMs: 380, unitPrices: { input: 1.25 } },
    },
  );
  const env = { ADMIN_URL: admin.url, GATEWAY_ADMIN_TOKEN: TOKEN };
  const cli = new URL('../cli.ts', import.meta.url).pathname;
  const run = async (...args: string[]) =>
    (await promisify(execFile)(process.execPath, [cli, ...args], { env })).stdout;
  expect(await run('requests', 'list', '--id', 'of_a_caller')).toMatch(/req_of_a_caller\s+key_a\s+gpt-5/);
  const shown = await run('requests', 'show', id);
  expect(shown).toMatch(/openai\s+default\s+ok/);
  expect(shown).toMatch(/input\s+1200\s+\$1.25 for 1000000\s+\$0.001500/);
  expect(await run('attention')).toContain('Nothing needs attention.');
});
