import { type CsvValue, csvLine } from '@gateway/contracts/csv';

/** A table as a text. */
export const csvOf = (headers: readonly string[], rows: readonly (readonly CsvValue[])[]): string =>
  [headers, ...rows].map(csvLine).join('');

/** How rows of a table are written: a column for each header. */
export const csvWith =
  <Row>(columns: Readonly<Record<string, (row: Row) => CsvValue>>) =>
  (rows: readonly Row[]): string =>
    csvOf(
      Object.keys(columns),
      rows.map((row) => Object.values(columns).map((of) => of(row))),
    );

/** Gives the person a file: a table's text, or what is one already. */
export function download(name: string, content: string | Blob): void {
  const file =
    typeof content === 'string' ? new Blob([content], { type: 'text/csv;charset=utf-8' }) : content;
  const url = URL.createObjectURL(file);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
