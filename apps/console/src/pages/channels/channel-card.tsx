import { Badge, Button, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useState } from 'react';
import { useMay } from '../../api/permissions.ts';
import type { Channel, Rest } from '../../api/types.ts';
import { Moment } from '../../parts/moment.tsx';
import { Facts, Names } from '../facts.tsx';
import { type ChannelUsage, trafficFacts } from './channel-traffic.tsx';
import { RestDialog } from './rest-dialog.tsx';
import { RestLine } from './rest-line.tsx';
import { TestDialog } from './test-dialog.tsx';

interface Health {
  readonly label: string;
  readonly color: string;
}

const isWhole = ({ scope, state }: Rest): boolean => scope === 'channel' && state === 'resting';

/** Whether nothing of a channel is to get requests. */
export const restsWhole = ({ rests }: Channel): boolean => rests.some(isWhole);

/** What the rests of a channel come to. `only`: entries of models that only resting channels serve. */
function healthOf(channel: Channel, only: readonly string[]): Health {
  const { rests } = channel;
  if (restsWhole(channel) && only.length > 0) return { label: 'resting, but still in use', color: 'orange' };
  if (restsWhole(channel)) return { label: 'resting', color: 'red' };
  if (rests.some(({ state }) => state === 'resting')) return { label: 'partly resting', color: 'orange' };
  return rests.length > 0 ? { label: 'on trial', color: 'yellow' } : { label: 'serving', color: 'teal' };
}

interface ChannelCardProps {
  readonly of: Channel;
  readonly usage: ChannelUsage;
  /** Entries of models that get requests here although the channel rests, since nothing else serves them. */
  readonly only: readonly string[];
}

/** One channel with its accounts, its models and what of it rests. */
export function ChannelCard({ of: channel, usage, only }: ChannelCardProps) {
  const [isResting, setResting] = useState(false);
  const [isTested, setTested] = useState(false);
  const may = useMay();
  const health = healthOf(channel, only);
  return (
    <Paper withBorder p="md" component="section" aria-labelledby={`channel-${channel.name}`}>
      <Stack gap="sm">
        <Group justify="space-between" align="flex-start">
          <Group gap="xs">
            <Title order={2} size="h4" id={`channel-${channel.name}`}>
              {channel.name}
            </Title>
            <Badge color={health.color} variant="dot">
              {health.label}
            </Badge>
          </Group>
          <Group gap="xs" wrap="nowrap">
            {may('POST /admin/v1/channels/{name}/test') && (
              <Button size="compact-sm" variant="default" onClick={() => setTested(true)}>
                Send test request
              </Button>
            )}
            {may('POST /admin/v1/channels/{name}/rest') && (
              <Button size="compact-sm" variant="default" onClick={() => setResting(true)}>
                Rest
              </Button>
            )}
          </Group>
        </Group>
        {channel.rests.map((rest) => (
          <RestLine
            key={`${rest.scope} ${rest.account} ${rest.model} ${rest.since}`}
            of={rest}
            channel={channel.name}
          />
        ))}
        {restsWhole(channel) && only.length > 0 && (
          <Text size="sm">
            Requests for {only.join(', ')} still go here, since no other channel serves{' '}
            {only.length === 1 ? 'it' : 'them'}.
          </Text>
        )}
        <Facts
          of={[
            ['Provider', `${channel.provider} at ${channel.origin}`],
            ['Protocols', <Names key="protocols" of={channel.speaks} />],
            ['Accounts', <Accounts key="accounts" of={channel} />],
            [
              'Models',
              channel.models.length === 0 ? (
                'no route to this channel'
              ) : (
                <Names key="models" of={channel.models} />
              ),
            ],
            ...trafficFacts(channel, usage),
          ]}
        />
      </Stack>
      {isTested && <TestDialog of={channel} onClose={() => setTested(false)} />}
      {isResting && <RestDialog of={channel} onClose={() => setResting(false)} />}
    </Paper>
  );
}

const Accounts = ({ of: { accounts, maxConcurrentPerProcess } }: { of: Channel }) => (
  <Stack gap={2}>
    {accounts.map(({ name, weight, maxConcurrent, inFlight, credentials }) => (
      <div key={name}>
        <Text size="sm" span>
          {name}
        </Text>
        <Text span size="xs" c="dimmed">
          {accounts.length > 1 && `, weight ${weight}`}
          {maxConcurrent === null
            ? `, at most ${maxConcurrentPerProcess} in flight per process`
            : `, ${inFlight ?? 0} of ${maxConcurrent} slots in use`}
        </Text>
        {credentials !== null && <Credentials of={credentials} />}
      </div>
    ))}
  </Stack>
);

/** Where an account's credentials come from, and how that stands. */
const Credentials = ({ of }: { of: NonNullable<Channel['accounts'][number]['credentials']> }) => (
  <Text size="xs" c={of.failure === null ? 'dimmed' : 'red'}>
    {of.source}
    {of.expiresAt !== null && (
      <>
        , expires <Moment at={of.expiresAt} />
      </>
    )}
    {of.failure !== null && `. Last attempt failed: ${of.failure}`}
  </Text>
);
