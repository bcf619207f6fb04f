import type { CsvValue } from '@gateway/contracts/csv';
import type { QueryClient } from '@tanstack/react-query';
import type { UsageRow } from '../../api/types.ts';
import { csvOf } from '../../parts/table/csv.ts';
import { readKeyNames } from '../keys/keys-query.ts';
import { GROUP_LABELS, type Group } from '../traffic/usage-query.ts';

const FIGURES: Readonly<Record<string, (row: UsageRow) => CsvValue>> = {
  Requests: ({ requests }) => requests,
  Errors: ({ failed }) => failed,
  Refused: ({ refused }) => refused,
  'Input tokens': ({ inputTokens }) => inputTokens,
  'Cached input tokens': ({ cachedInputTokens }) => cachedInputTokens,
  'Output tokens': ({ outputTokens }) => outputTokens,
  Images: ({ images }) => images,
  Characters: ({ characters }) => characters,
  'Seconds of audio': ({ audioSeconds }) => audioSeconds,
  'Spend in USD': ({ costMicroUsd }) => costMicroUsd / 1e6,
  'Requests without a price': ({ unpricedRequests }) => unpricedRequests,
  'Total time p50 in ms': ({ totalMs }) => totalMs.p50,
  'Total time p95 in ms': ({ totalMs }) => totalMs.p95,
};

/** The table of a usage view; keys by their names, beside their ids. */
export async function usageCsv(
  queries: QueryClient,
  groupBy: readonly Group[],
  rows: readonly UsageRow[],
): Promise<string> {
  const names = await readKeyNames(
    queries,
    groupBy.includes('keyId') ? rows.map(({ keyId }) => keyId ?? '') : [],
  );
  const headers = groupBy.flatMap((name) => (name === 'keyId' ? ['Key', 'Key ID'] : [GROUP_LABELS[name]]));
  const groupsOf = (row: UsageRow): string[] =>
    groupBy.flatMap((name) => {
      const value = row[name] ?? '';
      return name === 'keyId' ? [names.get(value) ?? value, value] : [value];
    });
  return csvOf(
    [...headers, ...Object.keys(FIGURES)],
    rows.map((row) => [...groupsOf(row), ...Object.values(FIGURES).map((of) => of(row))]),
  );
}
