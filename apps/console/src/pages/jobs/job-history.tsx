import { Text, Timeline } from '@mantine/core';
import type { JobDetail } from '../../api/types.ts';

type Event = JobDetail['history'][number];

const EVENTS: Readonly<Record<Event['event'], string>> = {
  queued: 'Queued',
  started: 'Begun',
  ended: 'Ended',
  webhook: 'Webhook sent',
};

const exact = new Intl.DateTimeFormat('en-GB', {
  dateStyle: 'medium',
  timeStyle: 'medium',
});

/** What happened to a job, in its order. */
export const JobHistory = ({ of }: { of: readonly Event[] }) => (
  <Timeline bulletSize={14} lineWidth={2} active={of.length - 1}>
    {of.map(({ at, event, detail }) => (
      <Timeline.Item key={`${at} ${event}`} title={titleOf(event, detail)} fz="sm">
        <Text size="xs" c="dimmed" component="time" dateTime={at}>
          {exact.format(new Date(at))}
        </Text>
      </Timeline.Item>
    ))}
  </Timeline>
);

const titleOf = (event: Event['event'], detail: string | null): string =>
  detail === null ? EVENTS[event] : `${EVENTS[event]}: ${detail}`;
