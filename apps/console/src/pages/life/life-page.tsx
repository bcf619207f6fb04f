import { Group, Select, SimpleGrid, Stack } from '@mantine/core';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import * as z from 'zod/mini';
import type { ShownRequest, UsageRow } from '../../api/types.ts';
import { Moment } from '../../parts/moment.tsx';
import { percent, wholeNumber } from '../../parts/numbers.ts';
import { PageHeader } from '../../parts/page/page-header.tsx';
import { PageLink } from '../../parts/page/page-link.tsx';
import { usePageSearch } from '../../parts/page/page-search.ts';
import { Facts } from '../facts.tsx';
import { Figures } from '../overview/figures.tsx';
import { requestsQuery } from '../requests/requests-query.ts';
import { RangePicker } from '../traffic/range-picker.tsx';
import { RANGE_MEMBERS, rangeSearch } from '../traffic/time-range.ts';
import { GROUP_LABELS, GROUPS, type Group as GroupName, usageQuery } from '../traffic/usage-query.ts';
import type { Life } from '../traffic/value-link.tsx';
import { Breakdown } from './breakdown.tsx';
import { Causes } from './causes.tsx';
import { LatestRequests } from './latest-requests.tsx';
import { LifeCharts } from './life-charts.tsx';
import { Part } from './part.tsx';

const Search = z.object({
  ...RANGE_MEMBERS,
  /** What the charts and the breakdown are split by. */
  by: z.catch(z.optional(z.enum(GROUPS)), undefined),
});
const FALLBACK = '7d';

interface LifePageProps {
  /** Whose life it is: a key by its id, all others by their names. */
  readonly of: { readonly group: Life; readonly value: string };
  readonly title: string;
  /** Beside the title. */
  readonly badge?: ReactNode;
  /** By what its usage can be split, the usual one first. */
  readonly splits: readonly [GroupName, ...GroupName[]];
  /** What tells its causes of errors apart, beside their codes. */
  readonly causesBy: Life;
  /** Its settings, its budget, what was changed of it: parts of the page, and what stands in front of it. */
  readonly children: ReactNode;
}

/**
 * The life of a key, a team, a model or a channel: what it did and what that cost, how fast it was, why it failed, and what can be done
 * with it. All four have this shape.
 */
export function LifePage({ of, title, badge, splits, causesBy, children }: LifePageProps) {
  const { group, value } = of;
  const { search, change } = usePageSearch(Search);
  const by = splits.find((one) => one === search.by) ?? splits[0];
  const only = { [group]: value };
  const view = { range: search, fallback: FALLBACK, only } as const;
  const now = useQuery(usageQuery({ ...view, groupBy: [] }));
  const latest = useInfiniteQuery(requestsQuery({ range: '30d', ...only }));
  const requests = latest.data?.pages[0]?.data;
  const address = { ...rangeSearch(search, FALLBACK), ...only };
  const noun = GROUP_LABELS[group].toLowerCase();

  return (
    <Stack gap="md">
      <PageHeader title={title} badge={badge} about={<LastUsed of={requests} />}>
        <Group gap="xs">
          <RangePicker of={search} fallback={FALLBACK} change={change} />
          <Select
            size="xs"
            w={150}
            aria-label="Split by"
            data={splits.map((one) => ({ value: one, label: `By ${GROUP_LABELS[one].toLowerCase()}` }))}
            value={by}
            allowDeselect={false}
            onChange={(chosen) => change({ by: splits.find((one) => one === chosen) })}
          />
        </Group>
      </PageHeader>
      <Figures range={search} fallback={FALLBACK} only={only} />
      <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="md">
        <Stack gap="md">
          <LifeCharts
            range={search}
            fallback={FALLBACK}
            only={only}
            by={by}
            overTime={isMany(group, by) ? 'days' : true}
            zoom={change}
          />
        </Stack>
        <Stack gap="md">
          {children}
          <Part title="Efficiency">
            <Facts
              of={[
                ['Cached input', cachedShare(now.data?.rows[0])],
                ['Output speed', outputSpeed(requests)],
              ]}
            />
          </Part>
          <Part title={`By ${GROUP_LABELS[by].toLowerCase()}`}>
            <Breakdown range={search} fallback={FALLBACK} only={only} by={by} />
          </Part>
          <Part title="Errors by cause">
            <Causes range={search} fallback={FALLBACK} only={only} by={causesBy} />
          </Part>
        </Stack>
      </SimpleGrid>
      <Part title="Latest requests">
        <LatestRequests
          of={requests}
          without={group}
          error={latest.error}
          retry={() => void latest.refetch()}
        />
        <PageLink to="/requests" search={address}>
          View all requests of this {noun}
        </PageLink>
      </Part>
    </Stack>
  );
}

/** Who uses a model or a channel: hours of many keys are too many sums to be added up while somebody waits. */
const isMany = (group: Life, by: GroupName): boolean =>
  (group === 'model' || group === 'channel') && (by === 'keyId' || by === 'team');

function LastUsed({ of: requests }: { of: readonly ShownRequest[] | undefined }) {
  const [last] = requests ?? [];
  if (requests === undefined) return '…';
  if (last === undefined) return 'Not used in the last 30 days.';
  return (
    <>
      Last used <Moment at={last.startedAt} />
    </>
  );
}

const cachedShare = (row: UsageRow | undefined): string =>
  row === undefined || row.inputTokens === 0
    ? '–'
    : `${percent(row.cachedInputTokens / row.inputTokens)} of input tokens`;

/** From the first output on, of the latest streams that ended well. */
function outputSpeed(requests: readonly ShownRequest[] = []): string {
  let [tokens, ms] = [0, 0];
  for (const { outcome, isStreamed, timing, consumption } of requests) {
    if (outcome !== 'ok' || !isStreamed || timing.firstOutputMs === null) continue;
    tokens += consumption.outputTokens;
    ms += timing.totalMs - timing.firstOutputMs;
  }
  return ms <= 0 ? '–' : `${wholeNumber(tokens / (ms / 1000))} tokens per second, latest streams`;
}
