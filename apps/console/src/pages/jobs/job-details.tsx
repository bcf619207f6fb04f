import { Button, Group, Stack, Text, Timeline, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useMay } from '../../api/permissions.ts';
import type { Job, JobDetail } from '../../api/types.ts';
import { CopyField } from '../../parts/copy-field.tsx';
import { DetailsDrawer } from '../../parts/details-drawer.tsx';
import { Moment } from '../../parts/moment.tsx';
import { PageLink } from '../../parts/page/page-link.tsx';
import { timeFormat } from '../../parts/time-zone.ts';
import { Facts } from '../facts.tsx';
import { ValueLink } from '../traffic/value-link.tsx';
import { BatchLines } from './batch-lines.tsx';
import { CancelJob, RequeueJob } from './job-acts.tsx';
import { JobStatusBadge, kindName } from './job-names.tsx';
import { JobResult } from './job-result.tsx';
import { hasEnded, jobQuery } from './jobs-query.ts';

interface JobDetailsProps {
  readonly id: string;
  /** The job as the list has it, which knows whether it can be queued again. */
  readonly listed: Job | undefined;
  readonly onClose: () => void;
}

/** One job: what happened to it, what is kept of its result, and what can be done with it. */
export function JobDetails({ id, listed, onClose }: JobDetailsProps) {
  const { data: job, error, refetch } = useQuery(jobQuery(id));
  return (
    <DetailsDrawer
      of={job}
      kind="Job"
      titleOf={({ kind }) => kindName(kind)}
      badge={(one) => <JobStatusBadge of={one} />}
      error={error}
      onRetry={() => void refetch()}
      onClose={onClose}
    >
      {(one) => <Shown of={one} canRequeue={listed?.canRequeue === true && one.status === 'failed'} />}
    </DetailsDrawer>
  );
}

function Shown({ of: job, canRequeue }: { of: JobDetail; canRequeue: boolean }) {
  const may = useMay();
  const [act, setAct] = useState<'cancel' | 'requeue'>();
  const done = () => setAct(undefined);
  const offersRequeue = canRequeue && may('POST /admin/v1/jobs/{id}/requeue');
  const offersCancel = !hasEnded(job) && may('POST /admin/v1/jobs/{id}/cancel');
  return (
    <Stack>
      {(offersRequeue || offersCancel) && (
        <Group gap="xs">
          {offersRequeue && (
            <Button size="xs" onClick={() => setAct('requeue')}>
              Requeue
            </Button>
          )}
          {offersCancel && (
            <Button size="xs" variant="light" color="red" onClick={() => setAct('cancel')}>
              Cancel job
            </Button>
          )}
        </Group>
      )}
      <CopyField label="Job ID" value={job.id} />
      <Facts
        of={[
          ['Queue', job.queue],
          ['Model', <ValueLink key="model" group="model" value={job.model} />],
          ['Key', <ValueLink key="key" group="keyId" value={job.keyId} />],
          ...(job.errorCode === null ? [] : [['Error', <code key="error">{job.errorCode}</code>] as const]),
          ...(job.errorMessage === null ? [] : [['Reason', job.errorMessage] as const]),
          ...(job.run === null ? [] : runFacts(job.run)),
          ...(hasEnded(job)
            ? [
                [
                  'Record',
                  <PageLink key="record" to="/requests" search={{ request: job.id }}>
                    Attempts, times and cost
                  </PageLink>,
                ] as const,
              ]
            : []),
        ]}
      />
      <Title order={2} size="h5">
        History
      </Title>
      <JobHistory of={job.history} />
      {job.counts === null ? (
        <>
          <Title order={2} size="h5">
            Result
          </Title>
          <JobResult of={job} maySee={may('POST /admin/v1/playground')} />
        </>
      ) : (
        <BatchLines of={job} counts={job.counts} maySee={may('POST /admin/v1/playground')} />
      )}
      {act === 'cancel' && <CancelJob of={job} onDone={done} />}
      {act === 'requeue' && <RequeueJob of={job} onDone={done} />}
    </Stack>
  );
}

const runFacts = (run: NonNullable<JobDetail['run']>) =>
  [
    ['Request', <code key="request">{run.requestId}</code>],
    ['Attempts', String(run.attempts)],
    ...(run.retryAt === null ? [] : [['Next attempt', <Moment key="retry" at={run.retryAt} />] as const]),
    ...(run.isParked ? [['Parked', 'until other jobs of its key end'] as const] : []),
    ...(run.takeovers === 0 ? [] : [['Taken over by another worker', times(run.takeovers)] as const]),
    ...(run.requeues === 0 ? [] : [['Requeued', times(run.requeues)] as const]),
    ...(run.batchId === null
      ? []
      : [
          [
            'Batch',
            <PageLink key="batch" to="/jobs" search={{ job: run.batchId }}>
              {run.batchId}
            </PageLink>,
          ] as const,
        ]),
    ['Caller', run.isDetached ? 'fetches the result later' : 'waits for the result'],
  ] as const;

const times = (count: number): string => (count === 1 ? 'once' : `${count} times`);

type Event = JobDetail['history'][number];

const EVENTS: Readonly<Record<Event['event'], string>> = {
  queued: 'Queued',
  started: 'Started',
  ended: 'Ended',
  webhook: 'Webhook sent',
};

const exact = timeFormat({
  ...{ day: 'numeric', month: 'short', year: 'numeric' },
  ...{ hour: '2-digit', minute: '2-digit', second: '2-digit', timeZoneName: 'short' },
});

/** What happened to a job, in its order. */
const JobHistory = ({ of }: { of: readonly Event[] }) => (
  <Timeline bulletSize={14} lineWidth={2} active={of.length - 1}>
    {of.map(({ at, event, detail }) => (
      <Timeline.Item key={`${at} ${event}`} title={titleOf(event, detail)} fz="sm">
        <Text size="xs" c="dimmed" component="time" dateTime={at}>
          {exact(new Date(at))}
        </Text>
      </Timeline.Item>
    ))}
  </Timeline>
);

const titleOf = (event: Event['event'], detail: string | null): string =>
  detail === null ? EVENTS[event] : `${EVENTS[event]}: ${detail}`;
