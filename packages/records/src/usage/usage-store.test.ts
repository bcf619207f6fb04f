import type { UsageRecord } from '@gateway/contracts/usage/usage-record';
import { createRefusalCounts } from '@gateway/metering/usage/refusal-counts';
import { GROUPS, type Group, groupsOf } from '@gateway/metering/usage/sums';
import { type GroupFilter, isWanted, type UsageQuery } from '@gateway/metering/usage/usage-rows';
import { expect, onTestFinished, test } from 'vitest';
import { createRecorder } from '../recorder/recorder.ts';
import { append, sampleRecord } from '../testing/sample-records.ts';
import { onBothDatabases } from '../testing/use-database.ts';
import { createUsageStore, type NewestQuery } from './usage-store.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const ignore = () => undefined;

onBothDatabases((used) => {
  const store = () =>
    createUsageStore({ database: used.database, redis: used.redis, now: Date.now, onBroken: ignore });
  const record = async () => {
    const { redis, opened } = used;
    const recorder = createRecorder({
      ...{
        redis,
        opened,
        now: Date.now,
        timeZone: 'UTC',
        keepRecordsDays: 90,
        keepSumsDays: 400,
        everyMs: 1_000_000_000,
      },
      ...{ onBroken: ignore, report: ignore },
    });
    onTestFinished(() => recorder[Symbol.asyncDispose]());
    await recorder.round();
    await recorder[Symbol.asyncDispose]();
  };
  /** All pages of a query, as ids. */
  const idsOf = async (query: Partial<NewestQuery>): Promise<string[]> => {
    const ids: string[] = [];
    for (let after: string | undefined, pages = 0; pages < 100; pages += 1) {
      const { records, next } = await store().newest({
        ...{ fromMs: 0, toMs: Date.now() + HOUR_MS, only: {}, limit: 2, after },
        ...query,
      });
      ids.push(...records.map(({ id }) => id));
      if (next === null) return ids;
      after = next;
    }
    throw new Error('pages without an end');
  };

  test('records come the newest first and page by page, recorded or not, whatever is looked for', async () => {
    // What is not recorded is looked for in the streams of yesterday and today.
    const beganMs = Date.now() - 23 * HOUR_MS;
    const records = Array.from({ length: 11 }, (_, n) =>
      sampleRecord(`req_${n}`, {
        ...{ keyId: n % 3 === 0 ? 'key_rare' : 'key_1', team: n % 4 === 0 ? 'search' : null },
        ...{ requestId: n === 5 ? 'chosen%by_a\\caller' : `call_${n}` },
      }),
    );
    const endsOf = (n: number) => beganMs + n * 2 * HOUR_MS;
    const expected = (isWanted: (record: UsageRecord) => boolean) =>
      records
        .filter(isWanted)
        .map(({ id }) => id)
        .toReversed();
    for (const [n, one] of records.entries()) {
      if (n === 8) await record();
      await append(used.redis, one, endsOf(n));
    }
    // Some are recorded now, and all of them the second time.
    for (const _ of ['some', 'all']) {
      expect(await idsOf({})).toEqual(expected(() => true));
      expect(await idsOf({ only: { keyId: 'key_rare' } })).toEqual(
        expected((one) => one.keyId === 'key_rare'),
      );
      expect(await idsOf({ whose: ({ team }) => team === 'search' })).toEqual(
        expected((one) => one.team === 'search'),
      );
      expect(await idsOf({ only: { keyId: 'nobody' } })).toEqual([]);
      expect(await idsOf({ idPart: '%by_' })).toEqual(['req_5']);
      expect(await idsOf({ idPart: 'REQ' })).toEqual([]);
      expect(await idsOf({ idPart: 'call_1', only: { keyId: 'key_1' } })).toEqual(['req_10', 'req_1']);
      expect(await idsOf({ fromMs: endsOf(3), toMs: endsOf(6) })).toEqual(['req_5', 'req_4', 'req_3']);
      const found = await store().find('chosen%by_a\\caller', { of: 'first', isSeen: () => true });
      expect(found?.id).toBe('req_5');
      expect(await store().find('req_5', { of: 'last', isSeen: () => false })).toBeNull();
      await record();
    }
  });

  test('slow requests, and those with an attempt that failed, are found page by page whichever channel answered', async () => {
    const attempts =
      '"one";account="b";outcome=rate-limited;status=429;ms=8, "two";outcome=ok;status=200;ms=9';
    const records = Array.from({ length: 9 }, (_, n) =>
      sampleRecord(`req_${n}`, {
        ...{
          durationMs: n * 100,
          firstByteMs: n === 8 ? null : n * 10,
          channel: n % 3 === 0 ? 'two' : 'three',
        },
        ...{ outcome: n === 7 ? 'failed' : 'ok', attempts: 1 },
        ...(n % 3 === 0 && { attempts: 2, detail: { attempts } }),
        ...(n === 7 && {
          detail: { errorCode: 'overloaded', attempts: '"three";outcome=rate-limited;ms=3' },
        }),
      }),
    );
    const numbers = (...of: number[]) => of.map((n) => `req_${n}`);
    for (const [n, one] of records.entries()) {
      if (n === 5) await record();
      await append(used.redis, one);
    }
    for (const _ of ['some', 'all']) {
      expect(await idsOf({ minTotalMs: 600 })).toEqual(numbers(8, 7, 6));
      expect(await idsOf({ minFirstOutputMs: 60 })).toEqual(numbers(7, 6));
      expect(await idsOf({ attempt: { channel: 'one' } })).toEqual(numbers(6, 3, 0));
      expect(await idsOf({ attempt: { outcome: 'rate-limited' } })).toEqual(numbers(7, 6, 3, 0));
      expect(await idsOf({ attempt: { channel: 'two', outcome: 'rate-limited' } })).toEqual([]);
      expect(await idsOf({ attempt: { channel: 'three', outcome: 'ok' } })).toEqual(numbers(8, 5, 4, 2, 1));
      expect(await idsOf({ isFailed: true })).toEqual(numbers(7));
      await record();
    }
  });

  test('pages of one key go on to the days before, whatever the rest of a day has', async () => {
    const day = Math.floor(Date.now() / DAY_MS) - 5;
    const ends = [
      (day - 1) * DAY_MS + 12 * HOUR_MS,
      day * DAY_MS + 10 * HOUR_MS,
      day * DAY_MS + 20 * HOUR_MS,
    ];
    for (const [n, endMs] of ends.entries()) await append(used.redis, sampleRecord(`req_${n}`), endMs);
    await record();
    for (const limit of [1, 2])
      expect(await idsOf({ only: { keyId: 'key_1' }, limit })).toEqual(['req_2', 'req_1', 'req_0']);
  });

  test('what callers name their requests is found and summed up by, and times to the minute, recorded or not', async () => {
    const firstMs = Math.floor((Date.now() - 2 * HOUR_MS) / HOUR_MS) * HOUR_MS;
    const records = Array.from({ length: 24 }, (_, n) =>
      sampleRecord(`req_${n}`, {
        ...{ startedAtMs: firstMs + n * 150_000, durationMs: 0, costMicroUsd: n, model: `model-${n % 2}` },
        ...(n % 3 === 0 && { endUser: 'ann', session: `session-${n % 2}`, label: 'nightly' }),
        ...(n === 5 && { outcome: 'failed' as const, detail: { errorCode: 'overloaded' } }),
      }),
    );
    const endsOf = (n: number) => firstMs + n * 150_000;
    const sumsOf = async (query: Partial<UsageQuery>) => {
      const whole = { fromMs: firstMs, toMs: firstMs + HOUR_MS, groupBy: [], only: {} };
      const rows = await store().sums({ ...whole, ...query });
      return rows.map(({ group, sums, latencies }) => [
        Object.values(group).join(' '),
        ...[sums.requests, sums.failed, sums.costMicroUsd, latencies.totalMs.quantile(1)],
      ]);
    };
    const numbers = (isWanted: (n: number) => boolean) =>
      records.flatMap(({ id }, n) => (isWanted(n) ? [id] : [])).toReversed();
    for (const [n, one] of records.entries()) {
      if (n === 12) await record();
      await append(used.redis, one, endsOf(n));
    }
    for (const _ of ['some', 'all']) {
      expect(await idsOf({ names: { endUser: 'ann' } })).toEqual(numbers((n) => n % 3 === 0));
      expect(await idsOf({ names: { endUser: 'ann', session: 'session-1' }, limit: 3 })).toEqual(
        numbers((n) => n % 6 === 3),
      );
      expect(await idsOf({ names: { label: 'nightly' }, only: { model: 'model-0' } })).toEqual(
        numbers((n) => n % 6 === 0),
      );
      expect(await idsOf({ names: { label: 'nobody' } })).toEqual([]);
      expect(await sumsOf({ names: { endUser: 'ann' } })).toEqual([['', 8, 0, 84, 1]]);
      const minute = (n: number) => new Date(endsOf(n)).toISOString().slice(0, 16);
      expect(await sumsOf({ groupBy: ['minute'], fromMs: endsOf(4), toMs: endsOf(6) })).toEqual([
        [minute(4), 1, 0, 4, 1],
        [minute(5), 1, 1, 5, null],
      ]);
      expect(await sumsOf({ groupBy: ['fiveMinutes', 'model'], fromMs: endsOf(4), toMs: endsOf(6) })).toEqual(
        [
          [`${minute(4)} model-0`, 1, 0, 4, 1],
          [`${minute(4)} model-1`, 1, 1, 5, null],
        ],
      );
      expect(await sumsOf({ isExact: true, fromMs: endsOf(1), toMs: endsOf(3) + 1 })).toEqual([
        ['', 3, 0, 6, 1],
      ]);
      expect(await sumsOf({ isExact: true, groupBy: ['hour'], only: { errorCode: 'overloaded' } })).toEqual([
        [new Date(firstMs).toISOString().slice(0, 13), 1, 1, 5, null],
      ]);
      await record();
    }
  });

  test('a request that was recorded late is found and added up at the time of its end, recorded or not', async () => {
    const threeDaysAgo = Date.now() - 3 * DAY_MS;
    const late = (id: string, startedAtMs: number) =>
      sampleRecord(id, { startedAtMs, durationMs: 20_000, costMicroUsd: 5 });
    for (const [n, startedAtMs] of [threeDaysAgo, threeDaysAgo, threeDaysAgo + HOUR_MS].entries())
      await append(used.redis, late(`late_${n}`, startedAtMs));
    // Their clocks were wrong.
    await append(used.redis, late('of_1970', 0));
    await append(used.redis, late('of_tomorrow', Date.now() + DAY_MS));
    const range = { fromMs: threeDaysAgo - HOUR_MS, toMs: threeDaysAgo + 2 * HOUR_MS };
    for (const _ of ['not recorded', 'recorded']) {
      expect(await idsOf(range)).toEqual(['late_2', 'late_1', 'late_0']);
      expect(await idsOf({ ...range, only: { keyId: 'key_1' } })).toEqual(['late_2', 'late_1', 'late_0']);
      expect(await idsOf({ fromMs: Date.now() - HOUR_MS })).toEqual(['of_tomorrow', 'of_1970']);
      const [row] = await store().sums({ ...range, groupBy: [], only: {} });
      expect(row?.sums).toMatchObject({ requests: 3, costMicroUsd: 15 });
      await record();
    }
  });

  test('sums are those of the records whatever they are grouped and filtered by, also of before there were rollups', async () => {
    const places = ['', 'a', 'b'];
    const records = Array.from({ length: 40 }, (_, n) =>
      sampleRecord(`req_${n}`, {
        ...{ keyId: `key_${n % 4}`, team: places[n % 3] || null, model: `model-${n % 5}` },
        ...{ channel: places[(n >> 1) % 3] || null, endpoint: n % 2 === 0 ? 'chat' : 'images' },
        ...{ outcome: n % 7 === 0 ? 'failed' : 'ok', costMicroUsd: n, durationMs: n * 10 },
        ...(n % 7 === 0 && {
          detail: { errorCode: n % 2 === 0 ? 'overloaded' : 'rate_limited', status: 500 + (n % 3) },
        }),
      }),
    );
    // A stream takes later ids only.
    for (const days of [2, 1, 0])
      for (const [n, one] of records.entries())
        if (n % 3 === days) await append(used.redis, one, Date.now() - days * 20 * HOUR_MS);
    await record();
    const range = { fromMs: Date.now() - 4 * DAY_MS, toMs: Date.now() + HOUR_MS };
    const all = Array.from({ length: 2 ** GROUPS.length }, (_, bits) =>
      GROUPS.filter((_group, at) => (bits >> at) % 2 === 1),
    );
    const isOfFailure = (name: Group) => name === 'errorCode' || name === 'status';
    const subsets = all.filter((names) => names.length < 3 || !names.some(isOfFailure));
    const keyOf = (names: readonly Group[], of: Partial<Record<Group, string>>) =>
      names.map((name) => of[name] ?? '').join('/');
    const check = async (groupBy: readonly Group[], query: GroupFilter) => {
      const wanted = records.filter((one) => isWanted(groupsOf(one), query));
      const expected = Map.groupBy(wanted, (one) => keyOf(groupBy, groupsOf(one)));
      const rows = await store().sums({ ...range, groupBy, ...query });
      const found = rows.map(({ group, sums, latencies }) => [
        ...[keyOf(groupBy, group), sums.requests, sums.failed, sums.costMicroUsd],
        latencies.totalMs.quantile(1) !== null,
      ]);
      const sum = (of: readonly UsageRecord[]) =>
        of.reduce((all, { costMicroUsd }) => all + (costMicroUsd ?? 0), 0);
      const right = [...expected].map(([key, of]) => {
        const failed = of.filter(({ outcome }) => outcome === 'failed').length;
        return [key, of.length, failed, sum(of), failed < of.length];
      });
      const sorted = (list: unknown[]) => list.map((one) => JSON.stringify(one)).toSorted();
      expect(sorted(found), `${groupBy} ${JSON.stringify(query.only)}`).toEqual(sorted(right));
    };
    for (const groupBy of subsets) await check(groupBy, { only: {} });
    for (const filter of subsets.filter(({ length }) => length === 1 || length === 3)) {
      const groups = groupsOf(records[7] ?? sampleRecord(''));
      await check(['model'], { only: Object.fromEntries(filter.map((name) => [name, groups[name]])) });
    }
    const whose = ({ team }: { readonly team: string }) => team === 'a';
    for (const groupBy of [[], ['keyId'], ['channel']] as const) await check(groupBy, { only: {}, whose });
    for (const groupBy of [[], ['errorCode'], ['keyId', 'status'], ['channel']] as const)
      await check(groupBy, { only: {}, isFailed: true });
    const overloaded = { only: { errorCode: 'overloaded' } };
    const isOverloaded = (one: UsageRecord) => one.detail?.errorCode === 'overloaded';
    expect(new Set(await idsOf(overloaded))).toEqual(
      new Set(records.filter(isOverloaded).map(({ id }) => id)),
    );
    const quiet = { keyId: 'key_3', outcome: 'failed' };
    const ids = records.filter((one) => isWanted(groupsOf(one), { only: quiet })).map(({ id }) => id);
    expect(new Set(await idsOf({ only: quiet }))).toEqual(new Set(ids));

    // As a gateway left it that had none.
    await used.database.write(async ({ query }) => {
      await query('delete from usage_sums where grain > 1');
      await query('delete from usage_latencies where grain > 1');
      await query("update recorder_facts set value = $1 where name = 'rollups since'", [
        `${Math.ceil(Date.now() / HOUR_MS)}`,
      ]);
    });
    for (const groupBy of [[], ['model'], ['keyId', 'team']] as const) await check(groupBy, { only: {} });
    expect(new Set(await idsOf({ only: quiet }))).toEqual(new Set(ids));
  });

  test('a long time by key and model counts each request once, by whole weeks and the days around them', async () => {
    const ends = Array.from({ length: 60 }, (_, day) => Date.now() - (60 - day) * DAY_MS);
    for (const [n, endMs] of ends.entries())
      await append(used.redis, sampleRecord(`req_${n}`, { keyId: `key_${n % 2}`, costMicroUsd: 1 }), endMs);
    await record();
    const check = async (fromDay: number, toDay: number) => {
      const range = { fromMs: (ends[fromDay] ?? 0) - HOUR_MS, toMs: (ends[toDay] ?? 0) - HOUR_MS };
      const rows = await store().sums({ ...range, groupBy: ['keyId', 'model'], only: {} });
      const counts = rows.map(({ group, sums, latencies }) => [
        ...[group.keyId, sums.requests, sums.costMicroUsd, latencies.totalMs.quantile(1) !== null],
      ]);
      const days = Array.from({ length: toDay - fromDay }, (_, at) => fromDay + at);
      const right = Map.groupBy(days, (n) => `key_${n % 2}`);
      expect(counts.toSorted(), `${fromDay} to ${toDay}`).toEqual(
        [...right].map(([key, { length }]) => [key, length, length, true]).toSorted(),
      );
    };
    const checkAll = async () => {
      for (let day = 0; day < 9; day += 1) await check(day, 50 + day);
      await check(3, 5);
      await check(3, 13);
    };
    await checkAll();
    // Weeks are what is read: the days within them may be gone.
    const week = Math.floor((ends[30] ?? 0) / (7 * DAY_MS));
    for (const table of ['usage_sums', 'usage_latencies'])
      await used.database.write(({ query }) =>
        query(`delete from ${table} where grain = 11 and start >= $1 and start < $2`, [
          week * 7,
          week * 7 + 7,
        ]),
      );
    await check(0, 58);
  });

  test('what was recorded before there were weeks is read by days', async () => {
    const ends = Array.from({ length: 30 }, (_, day) => Date.now() - (30 - day) * DAY_MS);
    for (const [n, endMs] of ends.entries()) await append(used.redis, sampleRecord(`req_${n}`), endMs);
    await record();
    await used.database.write(async ({ query }) => {
      const sinceMs = ends[15] ?? 0;
      const weeks = 'grain >= 1000 and start <= $1';
      for (const table of ['usage_sums', 'usage_latencies'])
        await query(`delete from ${table} where ${weeks}`, [Math.floor(sinceMs / (7 * DAY_MS))]);
      await query("update recorder_facts set value = $1 where name = 'weeks since'", [
        `${Math.floor(sinceMs / HOUR_MS) + 1}`,
      ]);
    });
    const rows = await store().sums({
      ...{ fromMs: 0, toMs: Date.now(), groupBy: ['keyId', 'model'], only: {} },
    });
    expect(rows.map(({ sums }) => sums.requests)).toEqual([30]);
  });

  test('by days of any time zone each request counts on its day there, recorded or not', async () => {
    const first = Date.parse(`${new Date(Date.now() - 8 * DAY_MS).toISOString().slice(0, 10)}T00:30:00Z`);
    const ends = Array.from({ length: 7 * 24 }, (_, hour) => first + hour * HOUR_MS);
    for (const [n, endMs] of ends.entries())
      await append(
        used.redis,
        sampleRecord(`req_${n}`, { costMicroUsd: 1, startedAtMs: endMs, durationMs: 0 }),
      );
    const zones = ['UTC', 'Europe/Berlin', 'America/Los_Angeles', 'Pacific/Kiritimati', 'Asia/Kolkata'];
    for (const _ of ['not recorded', 'recorded']) {
      for (const timeZone of zones) {
        const dayIn = new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' });
        // Sums are of whole hours: one belongs to the day in which it begins.
        const expected = Map.groupBy(ends, (endMs) => dayIn.format(endMs - 1_800_000));
        const rows = await store().sums({
          ...{ fromMs: first - DAY_MS, toMs: Date.now(), only: {}, groupBy: ['day', 'keyId'], timeZone },
        });
        expect(
          rows.map(({ group, sums, latencies }) => [
            ...[group.day, group.keyId, sums.requests, sums.costMicroUsd],
            latencies.totalMs.quantile(1) !== null,
          ]),
          timeZone,
        ).toEqual([...expected].map(([day, { length }]) => [day, 'key_1', length, length, true]));
      }
      await record();
    }
  });

  test('sums are the same by any grain, recorded or not, beside the hours in which they were refused', async () => {
    const yesterday = Date.now() - 23 * HOUR_MS;
    for (let n = 0; n < 6; n += 1)
      await append(
        used.redis,
        sampleRecord(`req_${n}`, { costMicroUsd: 10 ** n }),
        yesterday + n * 4 * HOUR_MS,
      );
    const refusals = createRefusalCounts({ redis: used.redis, now: () => yesterday, keepSumsDays: 1 });
    for (let n = 0; n < 3; n += 1)
      refusals.add({ keyId: 'key_1', team: null, endpoint: 'chat', model: null });
    await refusals.close();
    const range = { fromMs: Date.now() - 10 * DAY_MS, toMs: Date.now() + HOUR_MS, only: {} };
    const total = async (by: 'hour' | 'day' | 'model') => {
      const rows = await store().sums({ ...range, groupBy: [by] });
      const sum = (name: 'costMicroUsd' | 'refused') => rows.reduce((all, { sums }) => all + sums[name], 0);
      return [rows.length, sum('costMicroUsd'), sum('refused')];
    };
    const answers = [];
    for (const _ of ['not recorded', 'recorded']) {
      answers.push([await total('hour'), await total('day'), await total('model')]);
      await record();
    }
    expect(answers[0]).toEqual(answers[1]);
    expect(answers[1]?.map(([, cost]) => cost)).toEqual([111_111, 111_111, 111_111]);
    expect(answers[1]?.map(([, , refused]) => refused)).toEqual([3, 3, 3]);
  });
});
