import { Paper, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import * as z from 'zod/mini';
import { useMay } from '../../api/permissions.ts';
import type { Key, ShownRequest, UsageRow } from '../../api/types.ts';
import { Moment } from '../../parts/moment.tsx';
import { percent, wholeNumber } from '../../parts/numbers.ts';
import { PageFailed } from '../../parts/page/page-failed.tsx';
import { PageHeader } from '../../parts/page/page-header.tsx';
import { PageLink } from '../../parts/page/page-link.tsx';
import { usePageSearch } from '../../parts/page/page-search.ts';
import { VirtualTable } from '../../parts/table/virtual-table.tsx';
import { ACTIONS } from '../audit/actions.ts';
import { auditQuery } from '../audit/audit-query.ts';
import { Facts } from '../facts.tsx';
import { Figures } from '../overview/figures.tsx';
import { COLUMNS } from '../requests/columns.tsx';
import { requestsQuery } from '../requests/requests-query.ts';
import { Chart } from '../traffic/chart.tsx';
import { MEASURES } from '../traffic/measures.ts';
import { RangePicker } from '../traffic/range-picker.tsx';
import { draw } from '../traffic/series.ts';
import { RANGE_MEMBERS, type Range, rangeSearch } from '../traffic/time-range.ts';
import { type Filter, usageQuery } from '../traffic/usage-query.ts';
import { forecastOf } from './budget-forecast.ts';
import { KeyPanel } from './key-panel.tsx';
import { KeyStateBadge } from './key-state.tsx';
import { keyBalanceQuery, keyQuery } from './keys-query.ts';
import { SecretDialog, type ShownSecret } from './secret-dialog.tsx';

const Search = z.object(RANGE_MEMBERS);
const FALLBACK = '7d';
const MAX_REQUESTS = 8;
const MAX_CHANGES = 6;
const CHARTS = ['requests', 'errors', 'spend', 'totalP95'] as const;

/** One key: what it did and what that cost, why it failed, what is left of it, who changed it, and what can be done with it. */
export default function KeyPage() {
  const { id = '' } = useParams({ strict: false });
  const { search, change } = usePageSearch(Search);
  const key = useQuery(keyQuery(id));
  const [secret, setSecret] = useState<ShownSecret>();
  const only = { keyId: id };
  const view = { range: search, fallback: FALLBACK, only } as const;
  const now = useQuery(usageQuery({ ...view, groupBy: [] }));
  const before = useQuery(usageQuery({ ...view, groupBy: [], isBefore: true }));
  const address = { ...rangeSearch(search, FALLBACK), ...only };
  const latest = useInfiniteQuery(requestsQuery({ range: '30d', ...only }));
  const requests = latest.data?.pages[0]?.data;
  if (key.error) return <PageFailed error={key.error} reset={() => void key.refetch()} />;

  return (
    <Stack gap="md">
      <PageHeader title={key.data?.name ?? 'Key'} about={<LastUsed of={requests} />}>
        <RangePicker of={search} fallback={FALLBACK} change={change} />
      </PageHeader>
      {now.error ? (
        <PageFailed error={now.error} reset={() => void now.refetch()} />
      ) : (
        <Figures
          now={now.data?.rows[0]}
          before={before.data?.rows[0]}
          isKnown={now.data !== undefined}
          view={address}
        />
      )}
      <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="md">
        <Stack gap="md">
          <Charts range={search} only={only} zoom={change} />
          <Part title="Errors by cause">
            <Causes range={search} only={only} address={address} />
          </Part>
        </Stack>
        <Stack gap="md">
          {key.data && (
            <Part title="Settings and limits" beside={<KeyStateBadge of={key.data} />}>
              <Forecast of={key.data} />
              <KeyPanel of={key.data} onSecret={setSecret} />
            </Part>
          )}
          <Part title="Efficiency">
            <Facts
              of={[
                ['Cached input', cachedShare(now.data?.rows[0])],
                ['Output speed', outputSpeed(requests)],
              ]}
            />
          </Part>
          <Changes of={id} />
        </Stack>
      </SimpleGrid>
      <Part title="Latest requests">
        <Latest of={requests} error={latest.error} retry={() => void latest.refetch()} />
        <PageLink to="/requests" search={address}>
          All requests of this key
        </PageLink>
      </Part>
      {secret && <SecretDialog shown={secret} onClose={() => setSecret(undefined)} />}
    </Stack>
  );
}

interface PartProps {
  readonly title: string;
  readonly beside?: ReactNode;
  readonly children: ReactNode;
}

const Part = ({ title, beside, children }: PartProps) => (
  <Paper withBorder p="md" component="section" aria-label={title}>
    <Title order={2} size="h5" mb="xs">
      {title} {beside}
    </Title>
    <Stack gap="sm">{children}</Stack>
  </Paper>
);

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

interface ViewProps {
  readonly range: Range;
  readonly only: Filter;
}

interface ChartsProps extends ViewProps {
  readonly zoom: (range: { from: string; to: string; range: undefined }) => void;
}

function Charts({ range, only, zoom }: ChartsProps) {
  const {
    data: usage,
    error,
    refetch,
  } = useQuery(usageQuery({ range, fallback: FALLBACK, only, groupBy: ['model'], overTime: true }));
  if (error) return <PageFailed error={error} reset={() => void refetch()} />;
  return CHARTS.map((name) => {
    const measure = MEASURES[name];
    const drawn =
      usage &&
      draw({
        ...{ ...usage, measure, group: (row) => row.model ?? '', labelOf: (value) => value },
        rankOf: ({ requests }) => requests,
      });
    return (
      <Part key={name} title={`${measure.label} by model`}>
        <Chart
          of={drawn}
          title={measure.label}
          height={170}
          syncGroup="key"
          behind={{ only, group: 'model', zoom }}
        />
      </Part>
    );
  });
}

/** Why requests failed, the most frequent cause first. */
function Causes({ range, only, address }: ViewProps & { address: object }) {
  const usage = useQuery(
    usageQuery({
      ...{ range, fallback: FALLBACK, groupBy: ['errorCode', 'channel'] },
      only: { ...only, failed: true },
    }),
  );
  if (usage.error) return <PageFailed error={usage.error} reset={() => void usage.refetch()} />;
  const rows = (usage.data?.rows ?? []).toSorted((a, b) => b.failed - a.failed);
  if (usage.data !== undefined && rows.length === 0) return <Text size="sm">No errors in this period.</Text>;
  return (
    <Facts
      of={rows.map(({ errorCode = '', channel = '', failed }) => [
        `${wholeNumber(failed)} ${failed === 1 ? 'request' : 'requests'}`,
        <PageLink
          key={`${errorCode} ${channel}`}
          to="/requests"
          search={{ ...address, errorCode, channel, failed: true }}
        >
          {errorCode || 'no error code'} · {channel || 'no channel'}
        </PageLink>,
      ])}
    />
  );
}

interface LatestProps {
  readonly of: readonly ShownRequest[] | undefined;
  readonly error: Error | null;
  readonly retry: () => void;
}

function Latest({ of: requests, error, retry }: LatestProps) {
  const navigate = useNavigate();
  if (error) return <PageFailed error={error} reset={retry} />;
  return (
    <VirtualTable
      label="Latest requests"
      columns={COLUMNS.filter(({ id }) => id !== 'key')}
      rows={(requests ?? []).slice(0, MAX_REQUESTS)}
      idOf={({ id }) => id}
      onOpen={({ id }) => void navigate({ to: '/requests', search: { request: id } })}
      isLoading={requests === undefined}
    />
  );
}

/** When the budget ends if its key goes on as in the last days. */
function Forecast({ of: key }: { of: Key }) {
  const balance = useQuery(keyBalanceQuery(key.id));
  const week = useQuery(usageQuery({ range: {}, fallback: '7d', groupBy: [], only: { keyId: key.id } }));
  const budget = balance.data?.budget;
  if (budget === undefined || budget === null || week.data === undefined) return null;
  const spentUsd = (week.data.rows[0]?.costMicroUsd ?? 0) / 1e6;
  return <Text size="sm">{forecastOf(budget, spentUsd, Date.now())}</Text>;
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

/** The latest changes of the key, for those who may see them. */
function Changes({ of: id }: { of: string }) {
  const isSeen = useMay()('GET /admin/v1/audit');
  const entries = useInfiniteQuery({ ...auditQuery({ subject: id }), enabled: isSeen });
  if (!isSeen) return null;
  const rows = entries.data?.pages.flatMap(({ data }) => data).slice(0, MAX_CHANGES) ?? [];
  return (
    <Part title="Changes">
      {entries.error && <PageFailed error={entries.error} reset={() => void entries.refetch()} />}
      <Facts
        of={rows.map((entry) => [
          `${ACTIONS[entry.action].label} by ${entry.who}`,
          <PageLink key={entry.id} to="/audit" search={{ subject: id, entry: entry.id }}>
            <Moment at={entry.at} />
          </PageLink>,
        ])}
      />
      <PageLink to="/audit" search={{ subject: id }}>
        All changes
      </PageLink>
    </Part>
  );
}
