import { Group, Paper, Skeleton, Text, Title } from '@mantine/core';
import type { QueueState } from '../../api/types.ts';
import { duration, wholeNumber } from '../../parts/numbers.ts';

/** How much of a queue waits, for how long, and what became of the rest. */
export function QueueCard({ of: queue }: { of: QueueState }) {
  const figures = (
    [
      ['running', queue.inProgress],
      ['delayed', queue.delayed],
      ['failed', queue.failed],
      ['done', queue.completed],
    ] as const
  ).filter(([, count]) => count > 0);
  return (
    <Paper
      withBorder
      p={{ base: 'sm', sm: 'md' }}
      component="section"
      aria-labelledby={`queue-${queue.queue}`}
    >
      <Title order={2} size="h5" id={`queue-${queue.queue}`}>
        {queue.queue}
      </Title>
      <Group gap={6} align="baseline" mt={4}>
        <Text fz={28} fw={650} lh={1.2}>
          {wholeNumber(queue.queued)}
        </Text>
        <Text size="sm" c="dimmed">
          waiting{queue.oldestQueuedAt === null ? '' : `, the oldest for ${ageOf(queue.oldestQueuedAt)}`}
        </Text>
      </Group>
      <Group gap={12} mt={6} wrap="wrap">
        {figures.map(([name, count]) => (
          <Text key={name} size="sm">
            <Text span inherit fw={600}>
              {wholeNumber(count)}
            </Text>{' '}
            {name}
          </Text>
        ))}
        {figures.length === 0 && (
          <Text size="sm" c="dimmed">
            nothing else
          </Text>
        )}
      </Group>
    </Paper>
  );
}

/** The room of a card. */
export const QueueSkeleton = () => <Skeleton h={{ base: 114, sm: 122 }} animate={false} />;

const ageOf = (at: string): string => duration(Math.max(0, (Date.now() - Date.parse(at)) / 1000));
