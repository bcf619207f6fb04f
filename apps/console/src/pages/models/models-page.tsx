import { Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { Model } from '../../api/types.ts';
import { PageFailed } from '../../parts/page-failed.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { type Column, VirtualTable } from '../../parts/virtual-table.tsx';
import { modelsQuery } from './models-query.ts';

const COLUMNS: readonly Column<Model>[] = [
  {
    id: 'name',
    header: 'Name',
    width: 'minmax(0, 2fr)',
    onNarrow: true,
    cell: ({ name }) => <Text size="sm">{name}</Text>,
  },
  {
    id: 'kind',
    header: 'Kind',
    width: '110px',
    onNarrow: true,
    cell: ({ kind }) => <Text size="sm">{kind}</Text>,
  },
];

/** Every model that callers can use. */
export default function ModelsPage() {
  const { data: models = [], error, isPending, refetch } = useQuery(modelsQuery);
  return (
    <Stack gap={0}>
      <PageHeader title="Models" about="What callers can name, and where it goes." />
      {error ? (
        <PageFailed error={error} reset={() => void refetch()} />
      ) : (
        <VirtualTable
          label="Models"
          columns={COLUMNS}
          rows={models}
          idOf={({ name }) => name}
          isLoading={isPending}
        />
      )}
    </Stack>
  );
}
