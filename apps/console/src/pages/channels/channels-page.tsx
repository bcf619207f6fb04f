import { Stack, Text } from '@mantine/core';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { api, bodyOf } from '../../api/client.ts';
import type { Channel } from '../../api/types.ts';
import { PageFailed } from '../../parts/page-failed.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { type Column, VirtualTable } from '../../parts/virtual-table.tsx';

const channelsQuery = queryOptions({
  queryKey: ['channels'],
  queryFn: async () => (await bodyOf(api.GET('/admin/v1/channels'))).data,
  refetchInterval: 5_000,
});

const COLUMNS: readonly Column<Channel>[] = [
  {
    id: 'name',
    header: 'Name',
    width: 'minmax(0, 2fr)',
    onNarrow: true,
    cell: ({ name }) => <Text size="sm">{name}</Text>,
  },
  {
    id: 'rests',
    header: 'Rests',
    width: '90px',
    onNarrow: true,
    cell: ({ rests }) => <Text size="sm">{rests.length}</Text>,
  },
];

/** Every channel. */
export default function ChannelsPage() {
  const { data: channels = [], error, isPending, refetch } = useQuery(channelsQuery);
  return (
    <Stack gap={0}>
      <PageHeader title="Channels" about="The providers that serve, and what of them rests." />
      {error ? (
        <PageFailed error={error} reset={() => void refetch()} />
      ) : (
        <VirtualTable
          label="Channels"
          columns={COLUMNS}
          rows={channels}
          idOf={({ name }) => name}
          isLoading={isPending}
        />
      )}
    </Stack>
  );
}
