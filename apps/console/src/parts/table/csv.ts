export type CsvValue = string | number | null;

/** Texts that a spreadsheet would run as a formula. */
const FORMULA = /^[=+\-@\t\r\n]/;
const NEEDS_QUOTES = /[",\r\n]/;

function cell(value: CsvValue): string {
  if (typeof value !== 'string') return value === null ? '' : String(value);
  const safe = FORMULA.test(value) ? `'${value}` : value;
  return NEEDS_QUOTES.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** A table as a text (RFC 4180). */
export const csvOf = (headers: readonly string[], rows: readonly (readonly CsvValue[])[]): string =>
  [headers, ...rows].map((values) => `${values.map(cell).join(',')}\r\n`).join('');

/** Gives the person a text as a file. */
export function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv;charset=utf-8' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
