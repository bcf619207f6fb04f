import { Badge, Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useMay } from '../../api/permissions.ts';
import type { Channel, Model, Rest } from '../../api/types.ts';
import { Moment } from '../../parts/moment.tsx';
import { Facts, Names } from '../facts.tsx';
import { ValueLink } from '../traffic/value-link.tsx';
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

/** Entries of models that get requests at a channel although it rests, since nothing else serves them. */
export function onlyServedAt(
  { name }: Channel,
  models: readonly Model[],
  channels: readonly Channel[],
): readonly string[] {
  const resting = new Set(channels.filter(restsWhole).map((channel) => channel.name));
  const entries = models.filter(
    ({ routes }) =>
      routes.some(({ channel }) => channel === name) && routes.every(({ channel }) => resting.has(channel)),
  );
  return [...new Set(entries.map(({ pattern }) => pattern))];
}

interface ChannelHealthProps {
  readonly of: Channel;
  /** By `onlyServedAt`. */
  readonly only: readonly string[];
}

export function ChannelHealth({ of, only }: ChannelHealthProps) {
  const { color, label } = healthOf(of, only);
  return (
    <Badge color={color} variant="dot">
      {label}
    </Badge>
  );
}

/** What can be done with a channel, by those who may. */
export function ChannelActions({ of: channel }: { of: Channel }) {
  const [isResting, setResting] = useState(false);
  const [isTested, setTested] = useState(false);
  const may = useMay();
  return (
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
      {isTested && <TestDialog of={channel} onClose={() => setTested(false)} />}
      {isResting && <RestDialog of={channel} onClose={() => setResting(false)} />}
    </Group>
  );
}

/** A channel with its accounts, its models and what of it rests. */
export function ChannelPanel({ of: channel, usage, only }: ChannelHealthProps & { usage: ChannelUsage }) {
  return (
    <Stack gap="sm">
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
          ['Models', <Models key="models" of={channel.models} />],
          ...trafficFacts(channel, usage),
        ]}
      />
    </Stack>
  );
}

function Models({ of }: { of: readonly string[] }) {
  if (of.length === 0) return 'no route to this channel';
  return (
    <Group gap={4}>
      {of.map((name) => (
        <Badge key={name} variant="default" fw={400}>
          <ValueLink group="model" value={name} look="plain" />
        </Badge>
      ))}
    </Group>
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
  <Text size="xs" c={of.failure === null ? 'dimmed' : 'var(--console-worse)'}>
    {of.source}
    {of.expiresAt !== null && (
      <>
        , expires <Moment at={of.expiresAt} />
      </>
    )}
    {of.failure !== null && `. Last attempt failed: ${of.failure}`}
  </Text>
);
