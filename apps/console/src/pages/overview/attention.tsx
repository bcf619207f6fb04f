import { Badge, Group, Paper, Skeleton, Stack, Text, ThemeIcon, Title } from '@mantine/core';
import {
  IconAlertTriangle,
  IconCheck,
  IconCoin,
  IconDatabaseOff,
  IconFileAlert,
  IconHourglass,
  IconMoon,
  IconTag,
} from '@tabler/icons-react';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { api, bodyOf } from '../../api/client.ts';
import type { AttentionItem } from '../../api/types.ts';
import { exactTime, Moment } from '../../parts/moment.tsx';
import { PageFailed } from '../../parts/page/page-failed.tsx';
import { PageLink } from '../../parts/page/page-link.tsx';

const REFRESH_MS = 10_000;
/** So many are shown; a broken provider may bring dozens. */
const MAX_SHOWN = 6;

const attentionQuery = queryOptions({
  queryKey: ['attention'],
  queryFn: async () => (await bodyOf(api.GET('/admin/v1/attention'))).data,
  refetchInterval: REFRESH_MS,
});

interface Kind {
  readonly icon: typeof IconCoin;
  /** Where a person can do something about it. */
  readonly link: (item: AttentionItem) => { label: string; to: string; search?: object } | null;
}

const budget: Kind['link'] = ({ subject }) =>
  subject.startsWith('key_')
    ? { label: 'Key', to: '/keys', search: { key: subject } }
    : { label: 'Team', to: '/teams', search: { team: subject } };

const KINDS: Readonly<Record<AttentionItem['kind'], Kind>> = {
  channel_resting: { icon: IconMoon, link: () => ({ label: 'Channels', to: '/channels' }) },
  budget_near: { icon: IconCoin, link: budget },
  budget_spent: { icon: IconCoin, link: budget },
  queue_waiting: { icon: IconHourglass, link: () => null },
  usage_waiting: { icon: IconDatabaseOff, link: () => null },
  configuration_invalid: { icon: IconFileAlert, link: () => null },
  unpriced_model: {
    icon: IconTag,
    link: ({ subject }) => ({ label: 'Requests', to: '/requests', search: { model: subject } }),
  },
};

/** What needs attention now, the most urgent first, each with the page where it can be fixed. */
export function Attention() {
  const { data: items, error, refetch } = useQuery(attentionQuery);
  // What was true a minute ago may not be now.
  if (error) return <PageFailed error={error} reset={() => void refetch()} />;
  if (items === undefined) return <Skeleton h={48} animate={false} />;
  if (items.length === 0)
    return (
      <Paper withBorder p="sm" component="section" aria-label="Needs attention">
        <Group gap="xs">
          <ThemeIcon variant="light" color="teal" size="sm" radius="xl" aria-hidden>
            <IconCheck size={14} aria-hidden />
          </ThemeIcon>
          <Text size="sm">Nothing needs attention.</Text>
        </Group>
      </Paper>
    );
  return (
    <Paper withBorder p="md" component="section" aria-labelledby="attention">
      <Group gap="xs" mb="xs">
        <IconAlertTriangle size={18} aria-hidden />
        <Title order={2} size="h5" id="attention">
          Needs attention
        </Title>
      </Group>
      <Stack gap="xs" component="ul" m={0} p={0} style={{ listStyle: 'none' }}>
        {items.slice(0, MAX_SHOWN).map((item) => (
          <Item key={`${item.kind} ${item.subject} ${item.sentence}`} of={item} />
        ))}
        {items.length > MAX_SHOWN && (
          <Text component="li" size="sm" c="dimmed">
            And {items.length - MAX_SHOWN} more: <PageLink to="/channels">channels</PageLink>,{' '}
            <PageLink to="/teams">teams</PageLink>, <PageLink to="/keys">keys</PageLink>.
          </Text>
        )}
      </Stack>
    </Paper>
  );
}

function Item({ of: item }: { of: AttentionItem }) {
  const { icon: Icon, link } = KINDS[item.kind];
  const leadsTo = link(item);
  return (
    <Group component="li" gap="xs" wrap="nowrap" align="flex-start">
      <ThemeIcon variant="light" color={item.isUrgent ? 'red' : 'orange'} size="md" aria-hidden>
        <Icon size={16} aria-hidden />
      </ThemeIcon>
      <div style={{ flex: 1, minWidth: 0 }}>
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {item.isUrgent && (
            <Badge color="red" variant="dot" size="sm" mr={6}>
              urgent
            </Badge>
          )}
          {item.sentence}
        </Text>
        {(item.since ?? item.until) !== null && (
          <Group gap="sm" c="dimmed" fz="xs">
            {item.since !== null && (
              <span>
                Since <Moment at={item.since} size="xs" />
              </span>
            )}
            {item.until !== null && (
              <span>
                Until <time dateTime={item.until}>{exactTime(item.until)}</time>
              </span>
            )}
          </Group>
        )}
      </div>
      {leadsTo && (
        <PageLink to={leadsTo.to} search={leadsTo.search ?? {}}>
          {leadsTo.label}
        </PageLink>
      )}
    </Group>
  );
}
