import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { counted } from '../../parts/numbers.ts';
import { PageFailed } from '../../parts/page/page-failed.tsx';
import { PageLink } from '../../parts/page/page-link.tsx';
import { Facts } from '../facts.tsx';
import { rangeSearch } from '../traffic/time-range.ts';
import { usageQuery, valueLabel } from '../traffic/usage-query.ts';
import type { Life } from '../traffic/value-link.tsx';
import type { PartView } from './part.tsx';

const MAX_CAUSES = 12;

/** Why requests failed, the most frequent cause first. */
export function Causes({ by, ...view }: PartView & { by: Life }) {
  const only = { ...view.only, failed: true };
  const usage = useQuery(usageQuery({ ...view, only, groupBy: ['errorCode', by] }));
  if (usage.error) return <PageFailed error={usage.error} reset={() => void usage.refetch()} />;
  const rows = (usage.data?.rows ?? []).toSorted((a, b) => b.failed - a.failed).slice(0, MAX_CAUSES);
  if (usage.data !== undefined && rows.length === 0) return <Text size="sm">No errors in this period.</Text>;
  const address = { ...rangeSearch(view.range, view.fallback), ...only };
  return (
    <Facts
      of={rows.map((row) => {
        const { errorCode = '', failed } = row;
        const value = row[by] ?? '';
        return [
          counted(failed, 'request'),
          <PageLink
            key={`${errorCode} ${value}`}
            to="/requests"
            search={{ ...address, errorCode, [by]: value }}
          >
            {valueLabel('errorCode', errorCode)} · {valueLabel(by, value)}
          </PageLink>,
        ];
      })}
    />
  );
}
