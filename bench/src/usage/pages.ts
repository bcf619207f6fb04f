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
    { name: 'a request by its id', ask: () => store.find('call_4711', anything) },
    {
      name: 'overview: a day by the hour',
      ask: () => store.sums({ ...lastDays(1), groupBy: ['hour', 'model'], only: {} }),
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
