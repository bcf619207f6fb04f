import { Group, Paper, Stack, Title } from '@mantine/core';
import type { Channel } from '../../api/types.ts';
import { ValueLink } from '../traffic/value-link.tsx';
import { ChannelActions, ChannelHealth, ChannelPanel } from './channel-panel.tsx';
import type { ChannelUsage } from './channel-traffic.tsx';

interface ChannelCardProps {
  readonly of: Channel;
  readonly usage: ChannelUsage;
  /** Entries of models that get requests here although the channel rests, since nothing else serves them. */
  readonly only: readonly string[];
}

/** One channel of the list. */
export const ChannelCard = ({ of: channel, usage, only }: ChannelCardProps) => (
  <Paper withBorder p="md" component="section" aria-labelledby={`channel-${channel.name}`}>
    <Stack gap="sm">
      <Group justify="space-between" align="flex-start">
        <Group gap="xs">
          <Title order={2} size="h4" id={`channel-${channel.name}`}>
            <ValueLink group="channel" value={channel.name} look="plain" />
          </Title>
          <ChannelHealth of={channel} only={only} />
        </Group>
        <ChannelActions of={channel} />
      </Group>
      <ChannelPanel of={channel} usage={usage} only={only} />
    </Stack>
  </Paper>
);
