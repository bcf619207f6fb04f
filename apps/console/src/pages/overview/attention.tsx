import { Badge, Button, Group, Paper, Skeleton, Stack, Text, ThemeIcon, Title } from '@mantine/core';
import { IconAlertTriangle, IconCheck } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Finding } from '../../api/types.ts';
import { exactTime, Moment } from '../../parts/moment.tsx';
import { PageFailed } from '../../parts/page/page-failed.tsx';
import { PageLink } from '../../parts/page/page-link.tsx';
import { attentionQuery } from './attention-query.ts';
import { FindingActions } from './finding-actions.tsx';
import { KINDS } from './finding-kinds.ts';

/** So many are shown at first; a broken provider may bring dozens. */
const FIRST_SHOWN = 6;

/** What needs attention now, the most urgent first, each with its causes and with what one can do about it. */
export function Attention() {
  const { data: items, error, refetch } = useQuery(attentionQuery);
  const [showsAll, setShowsAll] = useState(false);
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
  const shown = showsAll ? items : items.slice(0, FIRST_SHOWN);
  return (
    <Paper withBorder p="md" component="section" aria-labelledby="attention">
      <Group gap="xs" mb="sm">
        <IconAlertTriangle size={18} aria-hidden />
        <Title order={2} size="h5" id="attention">
          Needs attention
        </Title>
      </Group>
      <Stack gap="md" component="ul" m={0} p={0} style={{ listStyle: 'none' }}>
        {shown.map((item) => (
          <Item key={item.id} of={item} />
        ))}
      </Stack>
      {items.length > shown.length && (
        <Button mt="sm" size="compact-sm" variant="default" onClick={() => setShowsAll(true)}>
          Show {items.length - shown.length} more
        </Button>
      )}
    </Paper>
  );
}

function Item({ of: finding }: { of: Finding }) {
  const { icon: Icon, link } = KINDS[finding.kind];
  const { sentence, comparison, affects, advice, since, until, isUrgent } = finding;
  const leadsTo = link?.(finding) ?? null;
  return (
    <Group component="li" gap="xs" wrap="nowrap" align="flex-start">
      <ThemeIcon variant="light" color={isUrgent ? 'red' : 'orange'} size="md" aria-hidden>
        <Icon size={16} aria-hidden />
      </ThemeIcon>
      <div style={{ flex: 1, minWidth: 0, overflowWrap: 'anywhere' }}>
        <Text size="sm" fw={500}>
          {isUrgent && (
            <Badge color="red" variant="dot" size="sm" mr={6}>
              urgent
            </Badge>
          )}
          {sentence}
        </Text>
        {(comparison ?? affects) !== null && (
          <Text size="sm">{[comparison, affects].filter((text) => text !== null).join(' ')}</Text>
        )}
        <Text size="sm" c="dimmed">
          {advice}
        </Text>
        <Group gap="sm" mt={4}>
          <FindingActions of={finding} />
          {leadsTo !== null && (
            <PageLink to={leadsTo.to} search={leadsTo.search ?? {}}>
              {leadsTo.label}
            </PageLink>
          )}
          {since !== null && (
            <Text size="xs" c="dimmed" component="span">
              Since <Moment at={since} size="xs" />
            </Text>
          )}
          {until !== null && (
            <Text size="xs" c="dimmed" component="span">
              Until <time dateTime={until}>{exactTime(until)}</time>
            </Text>
          )}
        </Group>
      </div>
    </Group>
  );
}
