import { SimpleGrid, Stack, Text } from '@mantine/core';
import { IconActivity } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { Channel } from '../../api/types.ts';
import { EmptyState } from '../../parts/empty-state.tsx';
import { PageFailed } from '../../parts/page/page-failed.tsx';
import { PageHeader } from '../../parts/page/page-header.tsx';
import { modelsQuery } from '../models/models-query.ts';
import { usageQuery } from '../traffic/usage-query.ts';
import { ChannelCard, restsWhole } from './channel-card.tsx';
import type { ChannelUsage } from './channel-traffic.tsx';
import { channelsQuery } from './channels-query.ts';

/** Every channel: what serves, what rests and why, how it did in the last day. Those that rest come first. */
export default function ChannelsPage() {
  const { data: channels, error, refetch } = useQuery(channelsQuery);
  const usage = useQuery(usageQuery({ range: {}, fallback: '24h', groupBy: ['channel'] }));
  const usageOf = ({ name }: Channel): ChannelUsage => {
    if (usage.data === undefined || usage.error !== null)
      return usage.error === null ? 'loading' : 'unreadable';
    return { row: usage.data.rows.find(({ channel }) => channel === name) };
  };
  const { data: models = [] } = useQuery(modelsQuery);
  const resting = new Set(channels?.filter(restsWhole).map(({ name }) => name));
  const served = models.filter(({ routes }) => routes.every(({ channel }) => resting.has(channel)));
  const onlyAt = ({ name }: Channel): string[] => [
    ...new Set(
      served
        .filter(({ routes }) => routes.some(({ channel }) => channel === name))
        .map(({ pattern }) => pattern),
    ),
  ];
  const sorted = channels?.toSorted((a, b) => b.rests.length - a.rests.length) ?? [];
  const restingCount = sorted.filter(({ rests }) => rests.length > 0).length;
  const summary =
    restingCount === 0
      ? 'Nothing is resting.'
      : `${restingCount} of ${sorted.length} channels have something resting.`;
  return (
    <Stack gap={0}>
      <PageHeader title="Channels" about="The providers that requests go to, and what is resting." />
      {error && <PageFailed error={error} reset={() => void refetch()} />}
      {!error && channels?.length === 0 && (
        <EmptyState icon={IconActivity} title="No channels">
          Add one to gateway.yaml. No restart is needed.
        </EmptyState>
      )}
      {sorted.length > 0 && (
        <>
          <Text size="sm" mb="sm" role="status">
            {summary}
          </Text>
          <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="md">
            {sorted.map((channel) => (
              <ChannelCard key={channel.name} of={channel} usage={usageOf(channel)} only={onlyAt(channel)} />
            ))}
          </SimpleGrid>
        </>
      )}
    </Stack>
  );
}
