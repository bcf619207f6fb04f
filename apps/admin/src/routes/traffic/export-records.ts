import { type CsvValue, csvLine } from '@gateway/contracts/csv';
import { Consumption, type ToolCalls, type UsageRecord } from '@gateway/contracts/usage/usage-record';

type Format = 'csv' | 'ndjson';

export const EXPORT_FORMATS = {
  csv: { contentType: 'text/csv; charset=utf-8' },
  ndjson: { contentType: 'application/x-ndjson' },
} as const satisfies Record<Format, { contentType: string }>;

type Value = CsvValue | ToolCalls;

/** The columns of both formats, in their order. A record that lacks a count has none of it. */
const COLUMNS: Readonly<Record<string, (record: UsageRecord, keyName: string | null) => Value>> = {
  id: ({ id }) => id,
  startedAt: ({ startedAtMs }) => new Date(startedAtMs).toISOString(),
  keyId: ({ keyId }) => keyId,
  keyName: (_, keyName) => keyName,
  team: ({ team }) => team,
  endpoint: ({ endpoint }) => endpoint,
  model: ({ model }) => model,
  channel: ({ channel }) => channel,
  outcome: ({ outcome }) => outcome,
  errorCode: ({ detail }) => detail?.errorCode ?? null,
  status: ({ detail }) => detail?.status ?? null,
  endUser: ({ endUser }) => endUser ?? null,
  session: ({ session }) => session ?? null,
  label: ({ label }) => label ?? null,
  attempts: ({ attempts }) => attempts,
  durationMs: ({ durationMs }) => durationMs,
  firstByteMs: ({ firstByteMs }) => firstByteMs,
  ...countColumns(),
  toolCalls: ({ consumption }) => consumption.toolCalls ?? {},
  audioSeconds: ({ consumption }) => consumption.audioMs / 1000,
  estimated: ({ estimated }) => estimated,
  costMicroUsd: ({ costMicroUsd }) => costMicroUsd,
};
const NAMES = Object.keys(COLUMNS);

/** One for each count of a record, whatever is counted; audio is shown in seconds, and calls of tools are in one column. */
function countColumns(): Record<string, (record: UsageRecord) => Value> {
  const names = Consumption.omit({ audioMs: true, toolCalls: true }).keyof().options;
  return Object.fromEntries(names.map((name) => [name, ({ consumption }) => consumption[name] ?? 0]));
}

const rowOf = (record: UsageRecord, keyName: string | null): Record<string, Value> =>
  Object.fromEntries(Object.entries(COLUMNS).map(([name, read]) => [name, read(record, keyName)]));

/** `code_interpreter=1 web_search=3`; empty for none. */
const callsText = (calls: ToolCalls): string =>
  Object.entries(calls)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([tool, count]) => `${tool}=${count}`)
    .join(' ');

const line = (values: readonly Value[]): string =>
  csvLine(values.map((value) => (typeof value === 'object' && value !== null ? callsText(value) : value)));

interface ExportOptions {
  readonly isWanted: (record: UsageRecord) => boolean;
  readonly format: Format;
  /** A key's name; null: there is no such key, or the person does not see it. */
  readonly nameOf: (keyId: string) => Promise<string | null>;
}

/** The records that are wanted, as text, a record at a time; in CSV under a line of names. */
export async function* exportRecords(
  records: AsyncIterable<UsageRecord>,
  { isWanted, format, nameOf }: ExportOptions,
): AsyncGenerator<string> {
  const names = new Map<string, string | null>();
  let head = format === 'csv' ? line(NAMES) : '';
  for await (const record of records) {
    if (!isWanted(record)) continue;
    const { keyId } = record;
    const known = names.get(keyId);
    const keyName = known === undefined ? await nameOf(keyId) : known;
    names.set(keyId, keyName);
    const row = rowOf(record, keyName);
    yield head + (format === 'csv' ? line(Object.values(row)) : `${JSON.stringify(row)}\n`);
    head = '';
  }
  if (head !== '') yield head;
}
