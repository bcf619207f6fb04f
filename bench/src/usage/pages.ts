import type { UsageStore } from '@gateway/records/usage/usage-store';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

interface Page {
  readonly name: string;
  ask(): Promise<unknown>;
}

/** What the console's pages ask. */
export function pagesOf(store: UsageStore, nowMs: number): readonly Page[] {
  const lastDays = (days: number) => ({ fromMs: nowMs - days * DAY_MS, toMs: nowMs });
  const newest = { ...lastDays(90), after: undefined, limit: 50, only: {}, idPart: undefined };
  const seesTeam = ({ team }: { readonly team: string }) => team === 'team-3';
  const lastHours = (hours: number) => ({ fromMs: nowMs - hours * HOUR_MS, toMs: nowMs });
  const week = lastDays(7);
  const wholeDays = (days: number) => {
    const endMs = Math.ceil(nowMs / DAY_MS) * DAY_MS;
    return { fromMs: endMs - (days + 1) * DAY_MS, toMs: endMs };
  };
  const anything = { of: 'first', isSeen: () => true } as const;
  return [
    { name: 'newest requests', ask: () => store.newest(newest) },
    {
      name: 'newest requests of a busy key',
      ask: () => store.newest({ ...newest, only: { keyId: 'key_0' } }),
    },
    {
      name: 'newest requests of a quiet key',
      ask: () => store.newest({ ...newest, only: { keyId: 'key_299' } }),
    },
    { name: 'newest failed requests', ask: () => store.newest({ ...newest, only: { outcome: 'failed' } }) },
    {
      name: 'newest failed requests of a quiet key',
      ask: () => store.newest({ ...newest, only: { keyId: 'key_299', outcome: 'failed' } }),
    },
    { name: "newest requests of a person's team", ask: () => store.newest({ ...newest, whose: seesTeam }) },
    { name: 'requests of sixty days ago', ask: () => store.newest({ ...newest, toMs: nowMs - 60 * DAY_MS }) },
    { name: 'a part of an id, not found', ask: () => store.newest({ ...newest, idPart: 'nowhere' }) },
    { name: 'requests that took 10 s', ask: () => store.newest({ ...newest, minTotalMs: 10_000 }) },
    {
      name: 'requests with an attempt at a channel that has none',
      ask: () => store.newest({ ...newest, attempt: { channel: 'nowhere' } }),
    },
    {
      name: 'newest requests of an end user',
      ask: () => store.newest({ ...newest, names: { endUser: 'user-1' } }),
    },
    {
      name: 'newest requests of an error code that there is not',
      ask: () => store.newest({ ...newest, only: { errorCode: 'nowhere' } }),
    },
    { name: 'a request by its id', ask: () => store.find('call_4711', anything) },
    {
      name: 'overview: a day by the hour',
      ask: () => store.sums({ ...lastDays(1), groupBy: ['hour', 'model'], only: {} }),
    },
    ...([15 / 60, 1] as const).map((hours) => ({
      name: `overview: ${hours} h by the minute`,
      ask: () => store.sums({ ...lastHours(hours), isExact: true, groupBy: ['minute', 'model'], only: {} }),
    })),
    {
      name: 'overview: 6 h by five minutes',
      ask: () => store.sums({ ...lastHours(6), isExact: true, groupBy: ['fiveMinutes', 'model'], only: {} }),
    },
    {
      name: 'overview: a whole day by five minutes',
      ask: () => store.sums({ ...lastHours(24), isExact: true, groupBy: ['fiveMinutes', 'model'], only: {} }),
    },
    {
      name: 'usage: 30 days of an end user',
      ask: () => store.sums({ ...lastDays(30), groupBy: ['day'], only: {}, names: { endUser: 'user-1' } }),
    },
    ...(
      [
        ['a key, by model', { keyId: 'key_0' }, ['model']],
        ['a team, by key', { team: 'team-3' }, ['keyId']],
        ['a team, by model', { team: 'team-3' }, ['model']],
        ['a model, by channel', { model: 'gpt-5.2' }, ['channel']],
        ['a channel, by model', { channel: 'openai' }, ['model']],
      ] as const
    ).map(([name, only, groupBy]) => ({
      name: `page of ${name}: 7 days by the hour`,
      ask: () => store.sums({ ...week, groupBy: ['hour', ...groupBy], only }),
    })),
    ...(
      [
        ['a model, by team', { model: 'gpt-5.2' }, ['team']],
        ['a model, by key', { model: 'gpt-5.2' }, ['keyId']],
        ['a channel, by team', { channel: 'openai' }, ['team']],
        ['a channel, by key', { channel: 'openai' }, ['keyId']],
      ] as const
    ).flatMap(([name, only, groupBy]) => [
      {
        name: `page of ${name}: 7 days by the day`,
        ask: () => store.sums({ ...wholeDays(7), groupBy: ['day', ...groupBy], only }),
      },
      {
        name: `page of ${name}: breakdown of 7 days`,
        ask: () => store.sums({ ...week, groupBy, only }),
      },
    ]),
    {
      name: 'page of a model: causes of errors',
      ask: () =>
        store.sums({
          ...week,
          groupBy: ['errorCode', 'channel'],
          only: { model: 'gpt-5.2' },
          isFailed: true,
        }),
    },
    {
      name: 'page of a key: causes of errors',
      ask: () =>
        store.sums({ ...week, groupBy: ['errorCode', 'channel'], only: { keyId: 'key_0' }, isFailed: true }),
    },
    {
      name: 'usage: 30 days by model',
      ask: () => store.sums({ ...lastDays(30), groupBy: ['model'], only: {} }),
    },
    {
      name: 'usage: 30 days by day and key',
      ask: () => store.sums({ ...lastDays(30), groupBy: ['day', 'keyId'], only: {} }),
    },
    {
      name: 'usage: 90 days by day and model',
      ask: () => store.sums({ ...lastDays(90), groupBy: ['day', 'model'], only: {} }),
    },
    {
      name: 'usage: 90 days by model and key',
      ask: () => store.sums({ ...lastDays(90), groupBy: ['model', 'keyId'], only: {} }),
    },
    {
      name: 'usage: 90 days of one key',
      ask: () => store.sums({ ...lastDays(90), groupBy: ['day'], only: { keyId: 'key_7' } }),
    },
    {
      name: "usage: 90 days of a person's team",
      ask: () => store.sums({ ...lastDays(90), groupBy: ['day'], only: {}, whose: seesTeam }),
    },
  ];
}
