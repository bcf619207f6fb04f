import { Alert, Badge, Group, SimpleGrid, Stack, Text } from '@mantine/core';
import { IconBellOff } from '@tabler/icons-react';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { api, bodyOf } from '../../api/client.ts';
import type { Alerts } from '../../api/types.ts';
import { EmptyState } from '../../parts/empty-state.tsx';
import { counted, duration, percent } from '../../parts/numbers.ts';
import { PageFailed } from '../../parts/page/page-failed.tsx';
import { PageHeader } from '../../parts/page/page-header.tsx';
import { Facts } from '../facts.tsx';
import { Part } from '../life/part.tsx';
import { KINDS } from '../overview/finding-kinds.ts';
import { DeliveryList } from './delivery-list.tsx';
import { ReceiverCard } from './receiver-card.tsx';

const REFRESH_MS = 10_000;

const alertsQuery = queryOptions({
  queryKey: ['alerts'],
  queryFn: () => bodyOf(api.GET('/admin/v1/alerts')),
  refetchInterval: REFRESH_MS,
});

/** Who is notified of what needs attention, what was sent, and a test of each receiver. */
export default function AlertsPage() {
  const { data: alerts, error, refetch } = useQuery(alertsQuery);
  return (
    <Stack gap="md">
      <PageHeader
        title="Alerts"
        about="Who is notified of what needs attention. Rules and receivers are in the configuration file."
      />
      {error && <PageFailed error={error} reset={() => void refetch()} />}
      {alerts?.receivers.length === 0 && (
        <EmptyState icon={IconBellOff} title="No alerts configured">
          Add a section <code>alerts</code> with receivers and rules to the configuration file:
          <code> gateway.example.yaml</code> has one. No restart is needed.
        </EmptyState>
      )}
      {alerts && alerts.receivers.length > 0 && <Configured of={alerts} />}
      {alerts && <Thresholds of={alerts} />}
    </Stack>
  );
}

function Configured({ of: alerts }: { of: Alerts }) {
  const { receivers, rules, quietHours, deliveries } = alerts;
  return (
    <>
      {quietHours?.isNow && (
        <Alert color="blue" variant="light" title="Quiet hours">
          Until {quietHours.to} ({alerts.timeZone}),{' '}
          {quietHours.holdsUrgent ? 'all alerts are' : 'non-urgent alerts are'} held.
        </Alert>
      )}
      <Part title="Receivers">
        <SimpleGrid cols={{ base: 1, sm: 2, xl: 3 }} spacing="sm">
          {receivers.map((receiver) => (
            <ReceiverCard key={receiver.name} of={receiver} />
          ))}
        </SimpleGrid>
      </Part>
      <Part title="Rules">
        {rules.length === 0 && <Text size="sm">No rules. Nobody is notified.</Text>}
        <Stack gap="sm" component="ul" m={0} p={0} style={{ listStyle: 'none' }}>
          {rules.map((rule, at) => (
            <li key={at}>
              <Rule of={rule} />
            </li>
          ))}
        </Stack>
        <Facts of={timeFacts(alerts)} />
      </Part>
      <Part title="Recent messages">
        {deliveries.length === 0 ? (
          <Text size="sm">No messages in the last week.</Text>
        ) : (
          <DeliveryList of={deliveries} />
        )}
      </Part>
    </>
  );
}

/** What a rule selects, and whom it notifies. */
function Rule({ of: rule }: { of: Alerts['rules'][number] }) {
  const { receivers, kinds, isUrgentOnly, afterSeconds, repeatHours, maxRepeats } = rule;
  const selected = [
    kinds === null ? 'Everything' : kinds.map((kind) => KINDS[kind].label).join(', '),
    ...(['channels', 'models', 'teams'] as const).flatMap((name) =>
      rule[name] === null ? [] : [`${name}: ${rule[name].join(', ')}`],
    ),
  ];
  const repeated =
    maxRepeats === 0
      ? 'not repeated'
      : `repeated every ${duration(repeatHours * 3600)}, at most ${counted(maxRepeats, 'time')}`;
  return (
    <>
      <Group gap="xs">
        {isUrgentOnly && (
          <Badge color="red" variant="dot" size="sm">
            urgent only
          </Badge>
        )}
        <Text size="sm" fw={500} style={{ overflowWrap: 'anywhere' }}>
          {selected.join('; ')} → {receivers.join(', ')}
        </Text>
      </Group>
      <Text size="sm" c="dimmed">
        {afterSeconds === 0 ? 'Immediately' : `After ${duration(afterSeconds)}`}, {repeated}
      </Text>
    </>
  );
}

function timeFacts({ groupSeconds, quietHours, weeklyReport, timeZone }: Alerts) {
  const day = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);
  const quiet = quietHours && [
    `${quietHours.from} to ${quietHours.to} (${timeZone})`,
    ...(quietHours.days === null ? [] : [quietHours.days.map(day).join(', ')]),
    quietHours.holdsUrgent ? 'urgent alerts are held too' : 'urgent alerts are sent',
  ];
  return [
    [
      'Grouping',
      groupSeconds === 0 ? 'none' : `at most one message per receiver in ${duration(groupSeconds)}`,
    ],
    ['Quiet hours', quiet?.join('; ') ?? 'none'],
    [
      'Weekly report',
      weeklyReport === null
        ? 'none'
        : `${day(weeklyReport.day)} at ${weeklyReport.at} (${timeZone}) to ${weeklyReport.receivers.join(', ')}`,
    ],
  ] as const;
}

function Thresholds({ of: { thresholds } }: { of: Alerts }) {
  const { budgetShares, failureRate, minRequests, slowdown, queueSeconds, keyExpiryDays } = thresholds;
  return (
    <Part title="Thresholds">
      <Facts
        of={[
          ['Budgets', budgetShares.map(percent).join(', ')],
          ['Failures', `${percent(failureRate)} of at least ${counted(minRequests, 'request')}`],
          ['First output', `${slowdown} times the usual`],
          ['Jobs waiting', duration(queueSeconds)],
          ['Keys expiring', `within ${counted(keyExpiryDays, 'day')}`],
        ]}
      />
    </Part>
  );
}
