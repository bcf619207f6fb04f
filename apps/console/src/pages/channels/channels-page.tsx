import { SimpleGrid, Stack, Text } from '@mantine/core';
import { IconActivity } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useMay } from '../../api/permissions.ts';
import { EmptyState } from '../../parts/empty-state.tsx';
import { PageFailed } from '../../parts/page/page-failed.tsx';
import { PageHeader } from '../../parts/page/page-header.tsx';
import { PageLink } from '../../parts/page/page-link.tsx';
import { ADD_PROVIDER } from '../configuration/configuration-query.ts';
import { modelsQuery } from '../models/models-query.ts';
import { usageQuery } from '../traffic/usage-query.ts';
import { ChannelCard } from './channel-card.tsx';
import { onlyServedAt } from './channel-panel.tsx';
import { usageOfChannel } from './channel-traffic.tsx';
import { channelsQuery } from './channels-query.ts';

/** Every channel: what serves, what rests and why, how it did in the last day. Those that rest come first. */
export default function ChannelsPage() {
  const { data: channels, error, refetch } = useQuery(channelsQuery);
  const usage = useQuery(usageQuery({ range: {}, fallback: '24h', groupBy: ['channel'] }));
  // Without them it is not known which channels rest and are still in use: the badge that says so needs a line more.
  const { data: models = [], isPending: waitsForModels } = useQuery(modelsQuery);
  const sorted = channels?.toSorted((a, b) => b.rests.length - a.rests.length) ?? [];
  const restingCount = sorted.filter(({ rests }) => rests.length > 0).length;
  const summary =
    restingCount === 0
      ? 'Nothing is resting.'
      : `${restingCount} of ${sorted.length} channels have something resting.`;
  return (
    <Stack gap={0}>
      <PageHeader title="Channels" about="The providers that requests go to, and what is resting.">
        {useMay()('POST /admin/v1/configuration/draft') && (
          <PageLink {...ADD_PROVIDER}>Add a provider</PageLink>
        )}
      </PageHeader>
      {error && <PageFailed error={error} reset={() => void refetch()} />}
      {!error && channels?.length === 0 && (
        <EmptyState icon={IconActivity} title="No channels">
          Add a provider, here or in gateway.yaml. No restart is needed.
        </EmptyState>
      )}
      {sorted.length > 0 && !waitsForModels && (
        <>
          <Text size="sm" mb="sm" role="status">
            {summary}
          </Text>
          <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="md">
            {sorted.map((channel) => (
              <ChannelCard
                key={channel.name}
                of={channel}
                usage={usageOfChannel(usage, channel)}
                only={onlyServedAt(channel, models, sorted)}
              />
            ))}
          </SimpleGrid>
        </>
      )}
    </Stack>
  );
}
