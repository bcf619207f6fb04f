import { NOTHING_CONSUMED, type UsageRecord } from '@gateway/contracts/usage/usage-record';

type Format = 'csv' | 'ndjson';

export const EXPORT_FORMATS = {
  csv: { contentType: 'text/csv; charset=utf-8' },
  ndjson: { contentType: 'application/x-ndjson' },
} as const satisfies Record<Format, { contentType: string }>;

type Row = Record<string, string | number | boolean | null>;

/** One flat row for each record; the same members in both formats. */
const rowOf = ({ startedAtMs, consumption, team, costMicroUsd, ...record }: UsageRecord): Row => {
  // A column that only some records have would shift the others.
  const { audioMs, cacheWrite1hTokens: _, ...counts } = consumption;
  return {
    id: record.id,
    startedAt: new Date(startedAtMs).toISOString(),
    keyId: record.keyId,
    team,
    endpoint: record.endpoint,
    model: record.model,
    channel: record.channel,
    outcome: record.outcome,
    attempts: record.attempts,
    durationMs: record.durationMs,
    firstByteMs: record.firstByteMs,
    ...counts,
    audioSeconds: audioMs / 1000,
    estimated: record.estimated,
    costMicroUsd,
  };
};

/** Texts that a spreadsheet would run as a formula; model names come from callers. */
const FORMULA = /^[=+\-@\t\r\n]/;
const NEEDS_QUOTES = /[",\r\n]/;

/** RFC 4180. */
function cell(value: Row[string]): string {
  if (value === null) return '';
  if (typeof value !== 'string') return String(value);
  const safe = FORMULA.test(value) ? `'${value}` : value;
  return NEEDS_QUOTES.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const line = (values: readonly Row[string][]): string => `${values.map(cell).join(',')}\r\n`;

/** The columns, from an empty record. */
const COLUMNS = Object.keys(
  rowOf({
    id: '',
    keyId: '',
    team: null,
    endpoint: '',
    model: '',
    startedAtMs: 0,
    outcome: 'ok',
    channel: null,
    attempts: 0,
    durationMs: 0,
    firstByteMs: null,
    consumption: NOTHING_CONSUMED,
    estimated: false,
    costMicroUsd: null,
  }),
);

/** The records that are wanted, as text, a record at a time; in CSV under a line of names. */
export async function* exportRecords(
  records: AsyncIterable<UsageRecord>,
  isWanted: (record: UsageRecord) => boolean,
  format: Format,
): AsyncGenerator<string> {
  let head = format === 'csv' ? line(COLUMNS) : '';
  for await (const record of records) {
    if (!isWanted(record)) continue;
    const row = rowOf(record);
    yield head + (format === 'csv' ? line(Object.values(row)) : `${JSON.stringify(row)}\n`);
    head = '';
  }
  if (head !== '') yield head;
}
