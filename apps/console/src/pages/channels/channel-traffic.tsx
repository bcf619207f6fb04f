import { Badge, Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Channel, UsageRow } from '../../api/types.ts';
import { milliseconds, percent, wholeNumber } from '../../parts/numbers.ts';
import { PageLink } from '../../parts/page/page-link.tsx';
import type { Preset } from '../traffic/time-range.ts';
import type { Usage } from '../traffic/usage-query.ts';

type Counts = Channel['attempts']['lastHour'];

/** Ends of attempts that say nothing against the channel: it was full, or slower than another one, or the caller left. */
const NO_FAILURES: readonly string[] = ['ok', 'busy', 'overtaken', 'left'];

/** What is known of a channel's usage: nothing yet, nothing since it cannot be read, or its row, if there was any. */
export type ChannelUsage = 'loading' | 'unreadable' | { readonly row: UsageRow | undefined };

/** A channel's row of usage by channel. */
export function usageOfChannel(
  { data, error }: { readonly data: Usage | undefined; readonly error: Error | null },
  { name }: Channel,
): ChannelUsage {
  if (error !== null) return 'unreadable';
  return data === undefined ? 'loading' : { row: data.rows.find(({ channel }) => channel === name) };
}

/** How a channel did: failures by kind, and how long its requests took. */
export const trafficFacts = (
  { name, attempts }: Channel,
  usage: ChannelUsage,
): (readonly [string, ReactNode])[] => [
  ['Last hour', <Ends key="hour" of={attempts.lastHour} at={name} range="1h" />],
  ['Last day', <Ends key="day" of={attempts.lastDay} at={name} range="24h" />],
  ['First output', percentiles(usage, 'firstOutputMs')],
  ['Total time', percentiles(usage, 'totalMs')],
];

interface EndsProps {
  readonly of: Counts;
  /** The channel. */
  readonly at: string;
  readonly range: Preset;
}

function Ends({ of: counts, at: attemptChannel, range }: EndsProps) {
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const failures = Object.entries(counts)
    .filter(([kind]) => !NO_FAILURES.includes(kind))
    .toSorted(([, a], [, b]) => b - a);
  const failed = failures.reduce((sum, [, count]) => sum + count, 0);
  if (all === 0) return 'no attempts';
  return (
    <Group gap={6}>
      <Text size="sm" span>
        <PageLink to="/requests" search={{ attemptChannel, range }} size="inherit" look="quiet">
          {wholeNumber(all)} {all === 1 ? 'attempt' : 'attempts'}
        </PageLink>
        , {failed === 0 ? 'none failed' : `${percent(failed / all)} failed`}
      </Text>
      {failures.map(([kind, count]) => (
        <Badge key={kind} variant="dot" color="red" size="sm">
          <PageLink
            to="/requests"
            search={{ attemptChannel, attemptOutcome: kind, range }}
            size="inherit"
            look="quiet"
          >
            {kind} {wholeNumber(count)}
          </PageLink>
        </Badge>
      ))}
    </Group>
  );
}

function percentiles(usage: ChannelUsage, measure: 'firstOutputMs' | 'totalMs'): string {
  if (usage === 'loading') return '…';
  if (usage === 'unreadable') return 'could not be read';
  const { p50 = null, p95 = null } = usage.row?.[measure] ?? {};
  if (p50 === null || p95 === null) return 'no answered requests in the last day';
  return `p50 ${milliseconds(p50)}, p95 ${milliseconds(p95)}`;
}
