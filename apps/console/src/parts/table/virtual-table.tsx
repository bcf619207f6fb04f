import { Loader } from '@mantine/core';
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { type CSSProperties, memo, type ReactNode, useEffect, useId, useRef } from 'react';
import classes from './virtual-table.module.css';

export interface Column<Row> {
  readonly id: string;
  readonly header: string;
  /** A width of CSS grid: `120px`, `minmax(160px, 2fr)`. */
  readonly width: string;
  readonly cell: (row: Row) => ReactNode;
  /** Whether narrow screens show it too. */
  readonly onNarrow?: boolean;
  /** By what its header sorts the rows; absent: by nothing. */
  readonly sort?: string;
}

/** How rows are sorted, which their loader does. */
export interface Sorted {
  readonly by: string;
  readonly isAscending: boolean;
}

export interface VirtualTableProps<Row> {
  /** What the rows are, for those who cannot see it. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly idOf: (row: Row) => string;
  /** Opens a row: a button that its first cell names lies over all of it, below the links of the row. */
  readonly onOpen?: (row: Row) => void;
  readonly sorted?: Sorted;
  /** Sorts the rows by what a header says. */
  readonly onSort?: (sort: string) => void;
  /** Loads more rows when the last ones come into view; absent: these are all. */
  readonly onEnd?: (() => void) | undefined;
  readonly isLoading?: boolean;
}

const ROW_HEIGHT = 57;
const ROWS_AHEAD = 12;
// One function for all renders: with a new one, the virtualizer would measure every row again.
const rowHeight = (): number => ROW_HEIGHT;

/** Rows of which only those in view are in the document, so tens of thousands scroll as a few do. The page itself scrolls. */
export function VirtualTable<Row>(props: VirtualTableProps<Row>) {
  const { label, columns, rows, idOf, onOpen, sorted, onSort, onEnd, isLoading = false } = props;
  const body = useRef<HTMLDivElement>(null);
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: rowHeight,
    overscan: ROWS_AHEAD,
    scrollMargin: body.current?.offsetTop ?? 0,
  });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? -1;
  useEffect(() => {
    if (!isLoading && last >= rows.length - ROWS_AHEAD) onEnd?.();
  }, [isLoading, last, rows.length, onEnd]);

  const narrow = columns.filter(({ onNarrow }) => onNarrow);
  const widths: CSSProperties & Record<`--${string}`, string> = {
    '--columns': columns.map(({ width }) => width).join(' '),
    '--narrow-columns': narrow.map(({ width }) => width).join(' '),
  };
  return (
    <div className={classes.table} style={widths}>
      <div role="table" aria-label={label} aria-rowcount={rows.length + 1}>
        <div role="rowgroup" className={classes.head}>
          <div role="row" aria-rowindex={1} className={classes.row}>
            {columns.map(({ id, header, onNarrow, sort }) => (
              <div
                key={id}
                role="columnheader"
                aria-sort={sort !== undefined && sort === sorted?.by ? directionOf(sorted) : undefined}
                className={classes.header}
                data-narrow={onNarrow || undefined}
              >
                {sort === undefined || onSort === undefined ? (
                  header
                ) : (
                  <button type="button" className={classes.sort} onClick={() => onSort(sort)}>
                    {header}
                    {sort === sorted?.by && (sorted.isAscending ? ' ↑' : ' ↓')}
                  </button>
                )}
              </div>
            ))}
          </div>
        </div>
        <div
          // A group of rows has one; while the first are loaded there is none.
          role={items.length > 0 ? 'rowgroup' : undefined}
          ref={body}
          className={classes.body}
          style={{ height: virtual.getTotalSize() }}
        >
          {items.map(({ index, start }) => {
            const row = rows[index];
            if (row === undefined) return null;
            const top = start - virtual.options.scrollMargin;
            return (
              <TableRow key={idOf(row)} of={row} columns={columns} index={index} top={top} onOpen={onOpen} />
            );
          })}
        </div>
      </div>
      {isLoading && (
        <div className={classes.loading}>
          <Loader size="sm" role="status" aria-label="Loading more" />
        </div>
      )}
    </div>
  );
}

const directionOf = ({ isAscending }: Sorted) => (isAscending ? 'ascending' : 'descending');

interface TableRowProps<Row> {
  readonly of: Row;
  readonly columns: readonly Column<Row>[];
  /** Among all rows. */
  readonly index: number;
  /** In pixels, from the first row. */
  readonly top: number;
  readonly onOpen: ((row: Row) => void) | undefined;
}

/** Drawn once: while the page scrolls, only rows that come into view are. `memo` forgets that it was generic. */
const TableRow = memo(DrawnRow) as typeof DrawnRow;

function DrawnRow<Row>({ of: row, columns, index, top, onOpen }: TableRowProps<Row>) {
  const name = useId();
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      className={classes.row}
      data-opens={onOpen !== undefined || undefined}
      style={{ height: ROW_HEIGHT, transform: `translateY(${top}px)` }}
    >
      {columns.map(({ id, cell, onNarrow }, at) => (
        <div key={id} role="cell" className={classes.cell} data-narrow={onNarrow || undefined}>
          {at === 0 && onOpen !== undefined ? (
            <>
              <button
                type="button"
                className={classes.open}
                aria-labelledby={name}
                onClick={() => onOpen(row)}
              />
              <div id={name}>{cell(row)}</div>
            </>
          ) : (
            cell(row)
          )}
        </div>
      ))}
    </div>
  );
}
