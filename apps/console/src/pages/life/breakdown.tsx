import { Skeleton, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { cost, wholeNumber } from '../../parts/numbers.ts';
import { PageFailed } from '../../parts/page/page-failed.tsx';
import { PageLink } from '../../parts/page/page-link.tsx';
import { rangeSearch } from '../traffic/time-range.ts';
import { GROUP_LABELS, type Group, usageQuery } from '../traffic/usage-query.ts';
import { ValueLink } from '../traffic/value-link.tsx';
import type { PartView } from './part.tsx';

const MAX_ROWS = 8;

interface BreakdownProps extends PartView {
  readonly by: Group;
}

/** Of what its usage consists: the most expensive first, each with a link to its own page. */
export function Breakdown({ by, ...view }: BreakdownProps) {
  const usage = useQuery(usageQuery({ ...view, groupBy: [by] }));
  if (usage.error) return <PageFailed error={usage.error} reset={() => void usage.refetch()} />;
  if (usage.data === undefined) return <Skeleton h={90} animate={false} />;
  const [group = by] = usage.data.groupBy;
  const rows = usage.data.rows.toSorted((a, b) => b.costMicroUsd - a.costMicroUsd || b.requests - a.requests);
  if (rows.length === 0) return <Text size="sm">No usage in this period.</Text>;
  const address = { ...rangeSearch(view.range, view.fallback), ...view.only };
  return (
    <>
      <Table
        layout="fixed"
        verticalSpacing={4}
        horizontalSpacing={4}
        aria-label={`By ${GROUP_LABELS[group]}`}
      >
        <Table.Thead>
          <Table.Tr>
            <Table.Th w="46%">{GROUP_LABELS[group]}</Table.Th>
            <Table.Th ta="end">Requests</Table.Th>
            <Table.Th ta="end">Errors</Table.Th>
            <Table.Th ta="end">Spend</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.slice(0, MAX_ROWS).map((row) => {
            const value = row[group] ?? '';
            return (
              <Table.Tr key={value}>
                <Table.Td>
                  <Text size="sm" truncate>
                    <ValueLink group={group} value={value} look="plain" />
                  </Text>
                </Table.Td>
                <Table.Td ta="end">
                  <PageLink
                    to="/requests"
                    search={{ ...address, [group]: value }}
                    label={`View ${row.requests} requests`}
                  >
                    {wholeNumber(row.requests)}
                  </PageLink>
                </Table.Td>
                <Table.Td ta="end">{wholeNumber(row.failed)}</Table.Td>
                <Table.Td ta="end">{cost(row.costMicroUsd)}</Table.Td>
              </Table.Tr>
            );
          })}
        </Table.Tbody>
      </Table>
      <PageLink to="/usage" search={{ ...address, groupBy: group }}>
        {rows.length > MAX_ROWS ? `View all ${wholeNumber(rows.length)} in usage` : 'View in usage'}
      </PageLink>
    </>
  );
}
