import { Button } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import type { LoadedList } from '../../api/paged-list.ts';
import { notify } from '../notify.tsx';
import { wholeNumber } from '../numbers.ts';
import { download } from './csv.ts';

/** A table as a file: names where the table shows names. */
export interface TableCsv<Row> {
  /** Such as `keys.csv`. */
  readonly file: string;
  readonly textOf: (rows: readonly Row[]) => string | Promise<string>;
}

/** For more there is the API. */
const MAX_ROWS = 20_000;

interface ExportTableProps<Row> {
  readonly of: TableCsv<Row>;
  /** Those that have been loaded. */
  readonly rows: readonly Row[];
  readonly list: LoadedList;
  /** Whether there are more. */
  readonly hasMore: boolean;
}

/** Loads the rest of a list, and gives the person all of it as a file. */
export function ExportTable<Row>({ of: csv, rows, list, hasMore }: ExportTableProps<Row>) {
  const [isExporting, setExporting] = useState(false);
  const { error, isPlaceholderData, isFetchingNextPage = false, fetchNextPage } = list;
  const isComplete = !hasMore || rows.length >= MAX_ROWS || fetchNextPage === undefined;
  useEffect(() => {
    if (!isExporting || isFetchingNextPage || isPlaceholderData) return;
    if (error === null && !isComplete) {
      void fetchNextPage();
      return;
    }
    setExporting(false);
    if (error !== null) return;
    void Promise.resolve(csv.textOf(rows)).then((text) => download(csv.file, text));
    if (hasMore)
      notify({
        title: `Only the first ${wholeNumber(rows.length)} rows were exported`,
        message: 'Add a filter, or read the others from the admin API.',
      });
  }, [
    isExporting,
    isFetchingNextPage,
    isPlaceholderData,
    error,
    isComplete,
    hasMore,
    fetchNextPage,
    csv,
    rows,
  ]);
  return (
    <Button
      variant="default"
      size="sm"
      leftSection={<IconDownload size={16} aria-hidden />}
      loading={isExporting}
      disabled={rows.length === 0}
      onClick={() => setExporting(true)}
    >
      Export CSV
    </Button>
  );
}
