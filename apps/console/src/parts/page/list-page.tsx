import { Group, Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import { isLoading, type LoadedList } from '../../api/paged-list.ts';
import { EmptyState, type EmptyStateProps } from '../empty-state.tsx';
import { ExportTable, type TableCsv } from '../table/export-table.tsx';
import { VirtualTable, type VirtualTableProps } from '../table/virtual-table.tsx';
import { PageFailed } from './page-failed.tsx';
import { PageHeader } from './page-header.tsx';

interface ListPageProps<Row> extends Omit<VirtualTableProps<Row>, 'label' | 'onEnd' | 'isLoading'> {
  readonly title: string;
  /** One sentence on what the page is for. */
  readonly about: string;
  /** What the rows are, for those who cannot see it; absent: what the title says. */
  readonly label?: string;
  /** The page's main action. */
  readonly action?: ReactNode;
  /** Above the list. */
  readonly filters?: ReactNode;
  readonly list: LoadedList;
  /** Whether more rows are loaded when the last ones come into view; absent: while there are more. */
  readonly hasMore?: boolean;
  /** In place of a list without rows; absent: there is always one. */
  readonly empty?: EmptyStateProps;
  /** How all rows of the list are written to a file; absent: they cannot be. */
  readonly csv?: TableCsv<Row>;
  /** Below the list, and in front of it. */
  readonly children?: ReactNode;
}

/** A page that is a list: its heading, its filters, and the rows, or why there are none. */
export function ListPage<Row>(props: ListPageProps<Row>) {
  const { title, about, label = title, action, filters, list, empty, csv, children, ...table } = props;
  const { hasMore = list.hasNextPage ?? false, ...shown } = table;
  return (
    <Stack gap={0}>
      <PageHeader title={title} about={about}>
        {csv ? (
          <Group gap="xs">
            <ExportTable of={csv} rows={shown.rows} list={list} hasMore={hasMore} />
            {action}
          </Group>
        ) : (
          action
        )}
      </PageHeader>
      {filters}
      {list.error ? (
        <PageFailed error={list.error} reset={() => void list.refetch()} />
      ) : empty && shown.rows.length === 0 && !isLoading(list) && !hasMore ? (
        <EmptyState {...empty} />
      ) : (
        <VirtualTable
          {...shown}
          label={label}
          onEnd={hasMore ? () => void list.fetchNextPage?.() : undefined}
          isLoading={isLoading(list)}
        />
      )}
      {children}
    </Stack>
  );
}
