import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { UsageRow } from '../../api/types.ts';
import { cost, milliseconds, percent, shortNumber, wholeNumber } from '../../parts/numbers.ts';
import { PageLink } from '../../parts/page/page-link.tsx';
import type { Column } from '../../parts/table/virtual-table.tsx';
import type { RequestFilter } from '../traffic/request-filter.ts';
import type { Range } from '../traffic/time-range.ts';
import { GROUP_LABELS, type Group, valueLabel } from '../traffic/usage-query.ts';
import { ValueLink } from '../traffic/value-link.tsx';

const Two = ({ first, second }: { first: ReactNode; second: ReactNode }) => (
  <>
    <Text size="sm" truncate>
      {first}
    </Text>
    <Text size="xs" c="dimmed" truncate>
      {second}
    </Text>
  </>
);

const otherUnits = ({ images, characters, audioSeconds }: UsageRow): string =>
  [
    images > 0 && `${shortNumber(images)} images`,
    characters > 0 && `${shortNumber(characters)} characters`,
    audioSeconds > 0 && `${milliseconds(audioSeconds * 1000)} of audio`,
  ]
    .filter(Boolean)
    .join(', ');

/** The requests of a row, by an address. */
type SearchOf = (row: UsageRow, further?: RequestFilter) => object;

const figuresWith = (searchOf: SearchOf): readonly Column<UsageRow>[] => [
  {
    id: 'requests',
    header: 'Requests',
    width: '84px',
    onNarrow: true,
    cell: (row) => {
      const { requests, refused } = row;
      const link = (
        <PageLink to="/requests" search={searchOf(row)} label={`View ${requests} requests`} size="inherit">
          {wholeNumber(requests)}
        </PageLink>
      );
      const isRefused = refused !== null && refused > 0;
      return (
        <Two first={requests === 0 ? '0' : link} second={isRefused && `${shortNumber(refused)} refused`} />
      );
    },
  },
  {
    id: 'errors',
    header: 'Errors',
    width: '62px',
    cell: (row) => {
      const { requests, failed } = row;
      if (failed === 0) return <Two first="0" second="" />;
      const link = (
        <PageLink
          to="/requests"
          search={searchOf(row, { failed: true })}
          label={`View ${failed} errors`}
          size="inherit"
        >
          {wholeNumber(failed)}
        </PageLink>
      );
      return <Two first={link} second={percent(failed / requests)} />;
    },
  },
  {
    id: 'used',
    header: 'Tokens',
    width: '92px',
    cell: (row) =>
      row.inputTokens + row.outputTokens > 0 ? (
        <Two first={`${shortNumber(row.inputTokens)} in`} second={`${shortNumber(row.outputTokens)} out`} />
      ) : (
        <Two first={otherUnits(row) || '–'} second="" />
      ),
  },
  {
    id: 'cost',
    header: 'Spend',
    width: '84px',
    onNarrow: true,
    cell: ({ costMicroUsd, unpricedRequests }) => (
      <Two
        first={cost(costMicroUsd)}
        second={unpricedRequests > 0 && `${shortNumber(unpricedRequests)} no price`}
      />
    ),
  },
  {
    id: 'total',
    header: 'Time',
    width: '92px',
    cell: ({ totalMs: { p50, p95 } }) =>
      p50 === null || p95 === null ? (
        '–'
      ) : (
        <Two first={`p50 ${milliseconds(p50)}`} second={`p95 ${milliseconds(p95)}`} />
      ),
  },
];

/** A column for each group, then the figures. */
export const usageColumns = (
  groupBy: readonly Group[],
  view: RequestFilter & Range,
): readonly Column<UsageRow>[] => [
  ...groupBy.map((group, at) => ({
    id: group,
    header: GROUP_LABELS[group],
    width: 'minmax(0, 1fr)',
    onNarrow: at < 2,
    cell: (row: UsageRow) => {
      const value = row[group] ?? '';
      return (
        <Text size="sm" fw={at === 0 ? 500 : 400} truncate title={valueLabel(group, value)}>
          <ValueLink group={group} value={value} look="plain" />
        </Text>
      );
    },
  })),
  ...figuresWith((row, further) => ({
    ...view,
    ...Object.fromEntries(groupBy.map((name) => [name, row[name] ?? ''])),
    ...further,
  })),
];
