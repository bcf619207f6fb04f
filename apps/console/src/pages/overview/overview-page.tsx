import { Group, Paper, SegmentedControl, Select, SimpleGrid, Stack, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import * as z from 'zod/mini';
import type { UsageRow } from '../../api/types.ts';
import { PageFailed } from '../../parts/page/page-failed.tsx';
import { PageHeader } from '../../parts/page/page-header.tsx';
import { PageLink } from '../../parts/page/page-link.tsx';
import { usePageSearch } from '../../parts/page/page-search.ts';
import { Chart } from '../traffic/chart.tsx';
import { useKeyNames } from '../traffic/key-name.tsx';
import { MEASURES } from '../traffic/measures.ts';
import { RangePicker } from '../traffic/range-picker.tsx';
import { type Drawn, draw, drawTogether } from '../traffic/series.ts';
import { isCustom, PRESETS, RANGE_MEMBERS } from '../traffic/time-range.ts';
import {
  GROUP_LABELS,
  type Group as GroupName,
  type Usage,
  usageQuery,
  valueLabel,
} from '../traffic/usage-query.ts';
import { Attention } from './attention.tsx';
import { attentionQuery } from './attention-query.ts';
import { Figures } from './figures.tsx';
import { FirstStart } from './first-start.tsx';

const BY = ['model', 'team', 'keyId', 'channel', 'endpoint'] as const satisfies readonly GroupName[];
const ALL = 'all';
const SPLITS = [...BY, ALL] as const;
const SHARES = ['p50', 'p95'] as const;
const FALLBACK = '24h';

const Search = z.object({
  ...RANGE_MEMBERS,
  /** What each chart is split by; `all`: nothing. */
  by: z.catch(z.optional(z.enum(SPLITS)), undefined),
  /** The percentile that latencies are drawn by, where they are split. */
  share: z.catch(z.optional(z.enum(SHARES)), undefined),
});

/** How the gateway does, what it costs, and what needs a person now. */
export default function OverviewPage() {
  const { search, change } = usePageSearch(Search);
  const { by = 'model', share = 'p95' } = search;
  const group = by === ALL ? null : by;
  const overTime = useQuery(
    usageQuery({
      ...{ range: search, fallback: FALLBACK },
      ...{ groupBy: group === null ? [] : [group], overTime: true },
    }),
  );
  const { isPending } = useQuery(attentionQuery);
  const length = isCustom(search) ? 'period' : PRESETS[search.range ?? FALLBACK].label;

  return (
    <Stack gap="md">
      <PageHeader
        title="Overview"
        about={`Compared with the previous ${length}. Click a chart for its requests, or drag to zoom in.`}
      >
        <Group gap="xs">
          <RangePicker of={search} fallback={FALLBACK} change={change} />
          <Select
            size="xs"
            w={150}
            aria-label="Split by"
            data={[
              ...BY.map((value) => ({ value, label: `By ${GROUP_LABELS[value].toLowerCase()}` })),
              { value: ALL, label: 'Everything' },
            ]}
            value={by}
            allowDeselect={false}
            onChange={(value) => change({ by: SPLITS.find((one) => one === value) })}
          />
          {group !== null && (
            <SegmentedControl
              size="xs"
              aria-label="Percentile of latencies"
              data={[...SHARES]}
              value={share}
              onChange={(value) => change({ share: SHARES.find((one) => one === value) })}
            />
          )}
          <PageLink
            to="/usage"
            search={{
              range: search.range ?? (isCustom(search) ? undefined : FALLBACK),
              from: search.from,
              to: search.to,
              groupBy: group ?? 'none',
            }}
          >
            As a table
          </PageLink>
        </Group>
      </PageHeader>
      <FirstStart />
      <Attention />
      {/* It is loaded meanwhile, and shown once it is known how much stands above it: it would move while it is read. */}
      <Stack gap="md" style={{ visibility: isPending ? 'hidden' : 'visible' }}>
        <Figures range={search} fallback={FALLBACK} />
        {overTime.error ? (
          <PageFailed error={overTime.error} reset={() => void overTime.refetch()} />
        ) : (
          <Charts of={overTime.data} share={share} zoom={change} />
        )}
      </Stack>
    </Stack>
  );
}

const SUMS = ['requests', 'errors', 'spend', 'tokens'] as const;
const LATENCIES = {
  'First output': { p50: 'firstOutputP50', p95: 'firstOutputP95' },
  'Total time': { p50: 'totalP50', p95: 'totalP95' },
} as const;

/** Names that are read for charts, which show six. */
const MAX_NAMED = 50;

interface ChartsProps {
  readonly of: Usage | undefined;
  readonly share: (typeof SHARES)[number];
  readonly zoom: (range: { from: string; to: string; range: undefined }) => void;
}

function Charts({ of: usage, share, zoom }: ChartsProps) {
  const [group] = usage?.groupBy ?? [];
  const ids = group === 'keyId' ? new Set(usage?.rows.map(({ keyId }) => keyId ?? '')) : [];
  const keys = useKeyNames([...ids].slice(0, MAX_NAMED));
  const split = group === undefined ? null : (row: UsageRow) => row[group] ?? '';
  const labelOf = (value: string): string =>
    keys.get(value) ?? (group === undefined ? value : valueLabel(group, value));
  const rankOf = ({ requests }: UsageRow): number => requests;
  const charts: [string, Drawn | undefined][] = [
    ...SUMS.map((name): [string, Drawn | undefined] => [
      MEASURES[name].label,
      usage && draw({ ...usage, measure: MEASURES[name], group: split, labelOf, rankOf }),
    ]),
    ...Object.entries(LATENCIES).map(([title, names]): [string, Drawn | undefined] =>
      split === null
        ? [
            title,
            usage &&
              drawTogether(usage.span, usage.rows, [
                { ...MEASURES[names.p50], short: 'p50' },
                { ...MEASURES[names.p95], short: 'p95' },
              ]),
          ]
        : [
            `${title}, ${share}`,
            usage && draw({ ...usage, measure: MEASURES[names[share]], group: split, labelOf, rankOf }),
          ],
    ),
  ];
  return (
    <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="md">
      {charts.map(([title, drawn]) => (
        <Paper key={title} withBorder p="md" component="section" aria-label={title}>
          <Title order={2} size="h5" mb="xs">
            {title}
          </Title>
          <Chart of={drawn} title={title} syncGroup="overview" behind={{ group, zoom }} />
        </Paper>
      ))}
    </SimpleGrid>
  );
}
