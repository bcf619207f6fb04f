/** Lines of columns, as wide as their widest cell. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

const MEMBER_COLUMNS = 14;

/** `name  value` for each member; what is nested is written as `a=1, b=2`. */
export function memberTable(members: Readonly<Record<string, unknown>>): string {
  const columns = Math.max(MEMBER_COLUMNS, ...Object.keys(members).map(({ length }) => length));
  return Object.entries(members)
    .map(([name, value]) => `${name.padEnd(columns)}  ${cellText(value)}`.trimEnd())
    .join('\n');
}

export function cellText(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (Array.isArray(value)) return value.map(cellText).join(', ') || '-';
  if (typeof value !== 'object') return String(value);
  return (
    Object.entries(value)
      .map(([name, inner]) => `${name}=${cellText(inner)}`)
      .join(', ') || '-'
  );
}
