import { Group, MultiSelect, Paper, Select, Stack, Text, Title } from '@mantine/core';
import { IconChartBar } from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import * as z from 'zod/mini';
import { EmptyState } from '../../parts/empty-state.tsx';
import { cost, wholeNumber } from '../../parts/numbers.ts';
import { PageFailed } from '../../parts/page/page-failed.tsx';
import { PageHeader } from '../../parts/page/page-header.tsx';
import { PageLink } from '../../parts/page/page-link.tsx';
import { usePageSearch } from '../../parts/page/page-search.ts';
import { SavedViews } from '../../parts/page/saved-views.tsx';
import { download } from '../../parts/table/csv.ts';
import { VirtualTable } from '../../parts/table/virtual-table.tsx';
import { Chart } from '../traffic/chart.tsx';
import { ExportMenu } from '../traffic/export-menu.tsx';
import { Filters } from '../traffic/filters.tsx';
import { useKeyNames } from '../traffic/key-name.tsx';
import { MEASURES, type MeasureName } from '../traffic/measures.ts';
import { RangePicker } from '../traffic/range-picker.tsx';
import { FILTER_MEMBERS } from '../traffic/request-filter.ts';
import { draw } from '../traffic/series.ts';
import { RANGE_MEMBERS, rangeSearch } from '../traffic/time-range.ts';
import {
  type Filter,
  filterSearch,
  GROUP_LABELS,
  GROUPS,
  type Group as GroupName,
  type Usage,
  usageQuery,
  valueLabel,
} from '../traffic/usage-query.ts';
import { usageColumns } from './usage-columns.tsx';
import { usageCsv } from './usage-csv.ts';
import classes from './usage-page.module.css';

const MEASURE_NAMES = Object.keys(MEASURES).filter((name): name is MeasureName => name in MEASURES);
const NO_GROUP = 'none';

const Search = z.object({
  ...RANGE_MEMBERS,
  ...FILTER_MEMBERS,
  /** Names of groups, separated by commas; `none`: everything in one row. */
  groupBy: z.catch(z.optional(z.string()), undefined),
  /** What the chart draws and the table is sorted by. */
  show: z.catch(z.optional(z.enum(MEASURE_NAMES)), undefined),
});

const isGroup = (name: string): name is GroupName => GROUPS.some((group) => group === name);

/** What was used, by whom and of what: a chart and a table of the same view, which the address holds whole. */
export default function UsagePage() {
  const { search, change } = usePageSearch(Search);
  const { groupBy: groupText = 'model', show = 'spend' } = search;
  const groupBy = groupText.split(',').filter(isGroup);
  const [first] = groupBy;
  const view = { range: search, fallback: '30d', only: search } as const;
  const table = useQuery(usageQuery({ ...view, groupBy }));
  const overTime = useQuery(
    usageQuery({ ...view, groupBy: first === undefined ? [] : [first], overTime: true }),
  );
  const measure = MEASURES[show];
  const rows = (table.data?.rows ?? []).toSorted((a, b) => (measure.of(b) ?? -1) - (measure.of(a) ?? -1));
  const queries = useQueryClient();
  const exportTable = (): void =>
    void usageCsv(queries, table.data?.groupBy ?? [], rows).then((text) => download('usage-table.csv', text));
  const narrow = (row: { readonly [Name in GroupName]?: string }): void =>
    change(
      Object.fromEntries(
        (table.data?.groupBy ?? []).flatMap((name) => (row[name] === undefined ? [] : [[name, row[name]]])),
      ),
    );

  return (
    <Stack gap="sm">
      <PageHeader
        title="Usage"
        about="Who used what. A row narrows the view; its numbers lead to the requests, and so does the chart."
      >
        <Group gap="xs">
          <PageLink to="/requests" search={{ ...filterSearch(search), ...rangeSearch(search, '30d') }}>
            View requests
          </PageLink>
          <SavedViews page="/usage" without={[]} />
          <ExportMenu of={search} onTable={exportTable} />
        </Group>
      </PageHeader>
      <Group gap="xs" align="flex-end">
        <RangePicker of={search} fallback="30d" change={change} />
        <MultiSelect
          size="xs"
          flex="1 1 240px"
          aria-label="Group by"
          placeholder={groupBy.length === 0 ? 'Not grouped' : 'Then by'}
          data={GROUPS.map((value) => ({ value, label: GROUP_LABELS[value] }))}
          value={groupBy}
          onChange={(chosen) => change({ groupBy: chosen.join(',') || NO_GROUP })}
          clearable
        />
        <Select
          size="xs"
          w={180}
          aria-label="Show and sort by"
          data={MEASURE_NAMES.map((value) => ({ value, label: MEASURES[value].label }))}
          value={show}
          allowDeselect={false}
          onChange={(value) => change({ show: MEASURE_NAMES.find((name) => name === value) })}
        />
      </Group>
      <Filters of={search} change={change} />
      {table.error ? (
        <PageFailed error={table.error} reset={() => void table.refetch()} />
      ) : table.data !== undefined && rows.length === 0 ? (
        <EmptyState icon={IconChartBar} title="No usage in this period">
          Choose a longer period or remove a filter.
        </EmptyState>
      ) : (
        <div className={classes.sides} data-wide={groupBy.length > 1 || undefined}>
          <Paper withBorder p="md" className={classes.chart} component="section" aria-labelledby="chart">
            <Title order={2} size="h5" id="chart" mb="xs">
              {measure.label}
              {first !== undefined && ` by ${GROUP_LABELS[first].toLowerCase()}`}
            </Title>
            <UsageChart of={overTime.data} measure={show} only={search} zoom={change} />
          </Paper>
          <div className={classes.table}>
            <Totals of={view} />
            <VirtualTable
              label="Usage"
              columns={usageColumns(table.data?.groupBy ?? groupBy, {
                ...filterSearch(search),
                ...rangeSearch(search, '30d'),
              })}
              rows={rows}
              idOf={(row) => GROUPS.map((name) => row[name] ?? '').join(' ')}
              {...(groupBy.length > 0 && { onOpen: narrow })}
              isLoading={table.isPending}
            />
          </div>
        </div>
      )}
    </Stack>
  );
}

interface UsageChartProps {
  readonly of: Usage | undefined;
  readonly measure: MeasureName;
  readonly only: Filter;
  readonly zoom: (range: { from: string; to: string; range: undefined }) => void;
}

function UsageChart({ of: usage, measure, only, zoom }: UsageChartProps) {
  const [group] = usage?.groupBy ?? [];
  const keys = useKeyNames(
    group === 'keyId' ? [...new Set(usage?.rows.map(({ keyId }) => keyId ?? ''))].slice(0, MAX_NAMED) : [],
  );
  const drawn =
    usage &&
    draw({
      ...usage,
      measure: MEASURES[measure],
      rankOf: (row) => (MEASURES[measure].isSum ? (MEASURES[measure].of(row) ?? 0) : row.requests),
      group: group === undefined ? null : (row) => row[group] ?? '',
      labelOf: (value) => keys.get(value) ?? (group === undefined ? value : valueLabel(group, value)),
    });
  return (
    <Chart
      of={drawn}
      title={MEASURES[measure].label}
      height={320}
      syncGroup="usage"
      behind={{ only, group, zoom }}
    />
  );
}

/** Names that are read for a chart, which shows six. */
const MAX_NAMED = 50;

/** The sums of the whole view, whatever it is grouped by. */
function Totals({ of: view }: { of: Omit<Parameters<typeof usageQuery>[0], 'groupBy'> }) {
  const { data } = useQuery(usageQuery({ ...view, groupBy: [] }));
  const [sums] = data?.rows ?? [];
  return (
    <Text size="sm" mb="xs" mih={22}>
      {sums && (
        <>
          Total: <b>{wholeNumber(sums.requests)}</b> requests, <b>{wholeNumber(sums.failed)}</b> with errors,{' '}
          <b>{cost(sums.costMicroUsd)}</b>
          {sums.unpricedRequests > 0 && ` and ${wholeNumber(sums.unpricedRequests)} requests without a price`}
          .
        </>
      )}
    </Text>
  );
}
