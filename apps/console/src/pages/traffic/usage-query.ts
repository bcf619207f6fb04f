import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api, bodyOf } from '../../api/client.ts';
import type { UsageRow } from '../../api/types.ts';
import { timeZone } from '../../parts/time-zone.ts';
import { byDays, isFine, type Preset, type Range, type Span, spanBefore, spanOf } from './time-range.ts';

/** What usage is grouped and filtered by. */
export const GROUPS = [
  ...(['model', 'team', 'keyId', 'channel', 'endpoint', 'outcome'] as const),
  ...(['errorCode', 'status'] as const),
] as const;
export type Group = (typeof GROUPS)[number];
/** What callers name their requests by, and whose keys they used. */
export const CALLERS = ['endUser', 'session', 'label', 'owner'] as const;
export type CallerFilter = (typeof CALLERS)[number];
export type Filter = { readonly [Name in Group | CallerFilter]?: string | undefined } & {
  /** Only requests that did not end well. */
  readonly failed?: boolean | undefined;
};

export const GROUP_LABELS: Readonly<Record<Group, string>> = {
  model: 'Model',
  team: 'Team',
  keyId: 'Key',
  channel: 'Channel',
  endpoint: 'Endpoint',
  outcome: 'Outcome',
  errorCode: 'Error code',
  status: 'HTTP status',
};

/** The name of a value for people: the empty one is none. */
export const valueLabel = (group: Group, value: string): string =>
  value === '' ? `no ${GROUP_LABELS[group].toLowerCase()}` : value;

interface UsageQuery {
  readonly range: Range;
  readonly fallback: Preset;
  readonly groupBy: readonly Group[];
  /** Also by what the span is drawn by; `days`: by days where that is hours of more than one. */
  readonly overTime?: boolean | 'days';
  readonly only?: Filter;
  /** Of the span before instead. */
  readonly isBefore?: boolean;
}

export interface Usage {
  readonly span: Span;
  readonly groupBy: readonly Group[];
  readonly rows: readonly UsageRow[];
}

const REFRESH_MS = 60_000;
/** What is drawn by the minute is old sooner. */
const FINE_REFRESH_MS = 15_000;

export const instant = (atMs: number): string => new Date(atMs).toISOString();

/** The members that are set. */
export const filterOf = (
  only: Filter,
): Partial<Record<Group | CallerFilter, string>> & { failed?: 'true' } => ({
  ...Object.fromEntries(
    [...GROUPS, ...CALLERS].flatMap((name) => {
      const value = only[name];
      return value === undefined ? [] : [[name, value]];
    }),
  ),
  ...(only.failed === true && { failed: 'true' as const }),
});

/** The members of an address that are filters. */
export const filterSearch = (of: Filter): Filter => ({
  ...filterOf(of),
  ...{ failed: of.failed === true ? true : undefined },
});

/** Sums of a span that ends now, or did when they were asked for. */
export const usageQuery = ({
  range: { range, from, to },
  fallback,
  groupBy,
  overTime = false,
  only = {},
  isBefore = false,
}: UsageQuery) => {
  const zone = timeZone();
  return queryOptions({
    queryKey: [
      'usage',
      { range: range ?? fallback, from, to, groupBy, overTime, isBefore, zone, ...filterOf(only) },
    ],
    queryFn: async (): Promise<Usage> => {
      const current = spanOf({ range, from, to }, fallback, Date.now(), zone);
      const ofTime = overTime === 'days' ? byDays(current) : current;
      const span = isBefore ? spanBefore(ofTime) : ofTime;
      const names = overTime !== false ? [span.bucket, ...groupBy] : groupBy;
      const query = {
        from: instant(span.fromMs),
        to: instant(span.toMs),
        groupBy: names.join(','),
        timeZone: zone,
        ...(isFine(span) && { exact: 'true' as const }),
        ...filterOf(only),
      };
      const { data } = await bodyOf(api.GET('/admin/v1/usage', { params: { query } }));
      return { span, groupBy, rows: data };
    },
    refetchInterval: ({ state: { data } }) =>
      data !== undefined && isFine(data.span) ? FINE_REFRESH_MS : REFRESH_MS,
    placeholderData: keepPreviousData,
  });
};

/** The values of a group that requests of the last 30 days had. */
export const valuesQuery = (group: Group) => usageQuery({ range: {}, fallback: '30d', groupBy: [group] });
