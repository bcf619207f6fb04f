import { Group, Paper, SimpleGrid, Skeleton, Text } from '@mantine/core';
import { IconArrowDownRight, IconArrowUpRight, IconEqual } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { UsageRow } from '../../api/types.ts';
import { milliseconds, percent, shortNumber, wholeNumber } from '../../parts/numbers.ts';
import { PageFailed } from '../../parts/page/page-failed.tsx';
import { PageLink } from '../../parts/page/page-link.tsx';
import { MEASURES, type Measure } from '../traffic/measures.ts';
import { type Preset, type Range, rangeSearch } from '../traffic/time-range.ts';
import { type Filter, usageQuery } from '../traffic/usage-query.ts';

interface FiguresProps {
  readonly range: Range;
  readonly fallback: Preset;
  /** Which usage they are of; absent: all that the person sees. */
  readonly only?: Filter;
}

interface Figure {
  readonly label: string;
  readonly shown: (row: UsageRow) => string;
  readonly beside: (row: UsageRow) => string;
  /** What is compared; the requests behind it are those of this measure. */
  readonly measure: Measure;
  /** What is compared, if it is another value. */
  readonly of?: (row: UsageRow) => number | null;
  /** Whether more of it is bad, good, or neither. */
  readonly more: 'bad' | 'neither';
}

const time = (ms: number | null): string => (ms === null ? '–' : milliseconds(ms));

const FIGURES: readonly Figure[] = [
  {
    label: 'Requests',
    shown: ({ requests }) => shortNumber(requests),
    // Refusals are counted by the hour.
    beside: ({ refused }) =>
      refused === null ? '' : refused > 0 ? `${shortNumber(refused)} refused` : 'none refused',
    measure: MEASURES.requests,
    more: 'neither',
  },
  {
    label: 'Errors',
    shown: ({ failed, requests }) => percent(requests === 0 ? 0 : failed / requests),
    beside: ({ failed }) => `${wholeNumber(failed)} in total`,
    measure: MEASURES.errors,
    of: ({ failed, requests }) => (requests === 0 ? null : failed / requests),
    more: 'bad',
  },
  {
    label: 'Spend',
    shown: (row) => MEASURES.spend.format(MEASURES.spend.of(row) ?? 0),
    beside: ({ unpricedRequests }) =>
      unpricedRequests > 0
        ? `${shortNumber(unpricedRequests)} requests without a price`
        : 'all requests priced',
    measure: MEASURES.spend,
    more: 'neither',
  },
  {
    label: 'Tokens',
    shown: (row) => shortNumber(MEASURES.tokens.of(row) ?? 0),
    beside: ({ inputTokens, outputTokens }) =>
      `${shortNumber(inputTokens)} in, ${shortNumber(outputTokens)} out`,
    measure: MEASURES.tokens,
    more: 'neither',
  },
  {
    label: 'First output, p95',
    shown: ({ firstOutputMs }) => time(firstOutputMs.p95),
    beside: ({ firstOutputMs }) => `p50 ${time(firstOutputMs.p50)}`,
    measure: MEASURES.firstOutputP95,
    more: 'bad',
  },
  {
    label: 'Total time, p95',
    shown: ({ totalMs }) => time(totalMs.p95),
    beside: ({ totalMs }) => `p50 ${time(totalMs.p50)}`,
    measure: MEASURES.totalP95,
    more: 'bad',
  },
];

const NOTHING = { p50: null, p95: null };
const NO_USAGE: UsageRow = {
  requests: 0,
  failed: 0,
  refused: 0,
  inputTokens: 0,
  cachedInputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  images: 0,
  characters: 0,
  costMicroUsd: 0,
  unpricedRequests: 0,
  audioSeconds: 0,
  firstOutputMs: NOTHING,
  totalMs: NOTHING,
};

/** The sums of a time, each compared with the time before. */
export function Figures({ range, fallback, only = {} }: FiguresProps) {
  const view = { range, fallback, only, groupBy: [] };
  const { data, error, refetch } = useQuery(usageQuery(view));
  const earlier = useQuery(usageQuery({ ...view, isBefore: true }));
  if (error) return <PageFailed error={error} reset={() => void refetch()} />;
  const now = data?.rows[0] ?? NO_USAGE;
  const before = earlier.data?.rows[0] ?? NO_USAGE;
  const address = { ...rangeSearch(range, fallback), ...only };
  return (
    <SimpleGrid cols={{ base: 2, sm: 3, xl: 6 }} spacing="sm">
      {FIGURES.map(({ label, shown, beside, measure, of = measure.of, more }) => (
        <Paper key={label} withBorder p="sm" component="section" aria-label={label}>
          <Text size="xs" c="dimmed" fw={600}>
            {label}
          </Text>
          {data !== undefined ? (
            <>
              <Text fz={26} fw={650} lh={1.3} truncate>
                <PageLink
                  to="/requests"
                  search={{ ...address, ...measure.behind?.(measure.of(now) ?? 0) }}
                  size="inherit"
                  label={`${label}: ${shown(now)}. View requests`}
                >
                  {shown(now)}
                </PageLink>
              </Text>
              <Text size="xs" c="dimmed" truncate title={beside(now)}>
                {beside(now)}
              </Text>
              <Compared now={of(now)} before={of(before)} more={more} />
            </>
          ) : (
            <Skeleton h={70} mt={4} animate={false} />
          )}
        </Paper>
      ))}
    </SimpleGrid>
  );
}

/** Changes that are smaller are none. */
const NOTICEABLE = 0.005;

interface ComparedProps {
  readonly now: number | null;
  readonly before: number | null;
  readonly more: Figure['more'];
}

function Compared({ now, before, more }: ComparedProps) {
  if (now === null || before === null || before === 0)
    return (
      <Text size="xs" c="dimmed" mt={4} truncate>
        no earlier data
      </Text>
    );
  const change = (now - before) / before;
  const isSame = Math.abs(change) < NOTICEABLE;
  const Icon = isSame ? IconEqual : change > 0 ? IconArrowUpRight : IconArrowDownRight;
  const color =
    isSame || more === 'neither' ? 'dimmed' : change > 0 ? 'var(--console-worse)' : 'var(--console-better)';
  return (
    <Group gap={4} mt={4} wrap="nowrap" c={color}>
      <Icon size={14} aria-hidden />
      <Text size="xs" truncate>
        {isSame ? 'unchanged' : `${percent(Math.abs(change))} ${change > 0 ? 'more' : 'less'}`}
      </Text>
    </Group>
  );
}
