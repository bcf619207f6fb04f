import { Badge, Button, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useState } from 'react';
import { useMay } from '../../api/permissions.ts';
import type { Channel, Rest } from '../../api/types.ts';
import { Facts } from '../facts.tsx';
import { Names } from '../names.tsx';
import { RestDialog } from './rest-dialog.tsx';
import { RestLine } from './rest-line.tsx';

interface Health {
  readonly label: string;
  readonly color: string;
}

/** What the rests of a channel come to. */
function healthOf({ rests }: Channel): Health {
  const isWhole = ({ scope, state }: Rest): boolean => scope === 'channel' && state === 'resting';
  if (rests.some(isWhole)) return { label: 'rests', color: 'red' };
  if (rests.some(({ state }) => state === 'resting')) return { label: 'rests in part', color: 'orange' };
  return rests.length > 0 ? { label: 'to be proven', color: 'yellow' } : { label: 'serves', color: 'teal' };
}

/** One channel with its accounts, its models and what of it rests. */
export function ChannelCard({ of: channel }: { of: Channel }) {
  const [isResting, setResting] = useState(false);
  const mayRest = useMay()('POST /admin/v1/channels/{name}/rest');
  const health = healthOf(channel);
  return (
    <Paper withBorder p="md" component="section" aria-labelledby={`channel-${channel.name}`}>
      <Stack gap="sm">
        <Group justify="space-between" wrap="nowrap" align="flex-start">
          <Group gap="xs">
            <Title order={2} size="h4" id={`channel-${channel.name}`}>
              {channel.name}
            </Title>
            <Badge color={health.color} variant="dot">
              {health.label}
            </Badge>
          </Group>
          {mayRest && (
            <Button size="compact-sm" variant="default" onClick={() => setResting(true)}>
              Rest
            </Button>
          )}
        </Group>
        {channel.rests.map((rest) => (
          <RestLine
            key={`${rest.scope} ${rest.account} ${rest.model} ${rest.since}`}
            of={rest}
            channel={channel.name}
          />
        ))}
        <Facts
          of={[
            ['Provider', `${channel.provider} at ${channel.origin}`],
            ['Protocols', <Names key="protocols" of={channel.speaks} />],
            ['Accounts', <Accounts key="accounts" of={channel} />],
            [
              'Models',
              channel.models.length === 0 ? (
                'no route leads here'
              ) : (
                <Names key="models" of={channel.models} />
              ),
            ],
          ]}
        />
      </Stack>
      {isResting && <RestDialog of={channel} onClose={() => setResting(false)} />}
    </Paper>
  );
}

const Accounts = ({ of: { accounts, maxConcurrentPerProcess } }: { of: Channel }) => (
  <Stack gap={2}>
    {accounts.map(({ name, weight, maxConcurrent, inFlight }) => (
      <Text size="sm" key={name}>
        {name}
        <Text span size="xs" c="dimmed">
          {accounts.length > 1 && `, weight ${weight}`}
          {maxConcurrent === null
            ? `, at most ${maxConcurrentPerProcess} in flight in each process`
            : `, ${inFlight ?? 0} of ${maxConcurrent} slots in use`}
        </Text>
      </Text>
    ))}
  </Stack>
);
