import { Stack, Text } from '@mantine/core';
import { IconUsersGroup } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { Team } from '../../api/types.ts';
import { EmptyState } from '../../parts/empty-state.tsx';
import { Moment } from '../../parts/moment.tsx';
import { PageFailed } from '../../parts/page-failed.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { type Column, VirtualTable } from '../../parts/virtual-table.tsx';
import { teamsQuery } from './teams-query.ts';

const COLUMNS: readonly Column<Team>[] = [
  {
    id: 'name',
    header: 'Name',
    width: 'minmax(0, 2fr)',
    onNarrow: true,
    cell: ({ name }) => <Text size="sm">{name}</Text>,
  },
  {
    id: 'made',
    header: 'Made',
    width: '108px',
    onNarrow: true,
    cell: ({ createdAt }) => <Moment at={createdAt} />,
  },
];

/** Every team. */
export default function TeamsPage() {
  const { data: teams = [], error, isPending, refetch } = useQuery(teamsQuery);
  return (
    <Stack gap={0}>
      <PageHeader title="Teams" about="Limits and budgets that keys share, above their own." />
      {error ? (
        <PageFailed error={error} reset={() => void refetch()} />
      ) : teams.length === 0 && !isPending ? (
        <EmptyState icon={IconUsersGroup} title="No teams yet">
          Make one to give several keys a common budget.
        </EmptyState>
      ) : (
        <VirtualTable
          label="Teams"
          columns={COLUMNS}
          rows={teams}
          idOf={({ name }) => name}
          isLoading={isPending}
        />
      )}
    </Stack>
  );
}
