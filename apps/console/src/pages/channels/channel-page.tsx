import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { PageFailed } from '../../parts/page/page-failed.tsx';
import { Changes } from '../life/changes.tsx';
import { LifePage } from '../life/life-page.tsx';
import { Part } from '../life/part.tsx';
import { modelsQuery } from '../models/models-query.ts';
import { usageQuery } from '../traffic/usage-query.ts';
import { ChannelActions, ChannelHealth, ChannelPanel, onlyServedAt } from './channel-panel.tsx';
import { usageOfChannel } from './channel-traffic.tsx';
import { channelsQuery } from './channels-query.ts';

/** The life of one channel; its usage is there also where it is configured no more. */
export default function ChannelPage() {
  const { id: name = '' } = useParams({ strict: false });
  const channels = useQuery(channelsQuery);
  const { data: models = [] } = useQuery(modelsQuery);
  const usage = useQuery(usageQuery({ range: {}, fallback: '24h', groupBy: ['channel'] }));
  const channel = channels.data?.find((one) => one.name === name);
  const only = channel && onlyServedAt(channel, models, channels.data ?? []);
  return (
    <LifePage
      of={{ group: 'channel', value: name }}
      title={name}
      badge={channel && <ChannelHealth of={channel} only={only ?? []} />}
      splits={['model', 'team', 'keyId', 'endpoint', 'outcome']}
      causesBy="model"
    >
      <Part title="Accounts, models and attempts" beside={channel && <ChannelActions of={channel} />}>
        {channels.error && <PageFailed error={channels.error} reset={() => void channels.refetch()} />}
        {channel && <ChannelPanel of={channel} usage={usageOfChannel(usage, channel)} only={only ?? []} />}
        {channels.data && !channel && (
          <Text size="sm">The configuration has no such channel. Its usage stays on record.</Text>
        )}
      </Part>
      <Changes kind="channel" subjectId={name} />
    </LifePage>
  );
}
