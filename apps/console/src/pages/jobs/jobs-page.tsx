import { Group, SegmentedControl, SimpleGrid, Skeleton, Stack, TextInput } from '@mantine/core';
import { IconSearch, IconStack2 } from '@tabler/icons-react';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import * as z from 'zod/mini';
import { isLoading } from '../../api/paged-list.ts';
import { useMay } from '../../api/permissions.ts';
import type { Job } from '../../api/types.ts';
import { EmptyState } from '../../parts/empty-state.tsx';
import { Moment } from '../../parts/moment.tsx';
import { PageFailed } from '../../parts/page/page-failed.tsx';
import { PageHeader } from '../../parts/page/page-header.tsx';
import { usePageSearch } from '../../parts/page/page-search.ts';
import { Line, NameAndId, TwoLines } from '../../parts/table/cell-text.tsx';
import { type Column, VirtualTable } from '../../parts/table/virtual-table.tsx';
import { JobDetails } from './job-details.tsx';
import { JobStatusBadge, kindName, STATUSES } from './job-names.tsx';
import { jobsQuery, LISTED, type ListedStatus, queuesQuery } from './jobs-query.ts';
import { QueueCard } from './queue-card.tsx';

const Search = z.object({
  status: z.catch(z.optional(z.enum(LISTED)), undefined),
  /** The job that is open. */
  job: z.catch(z.optional(z.string()), undefined),
});

const EMPTY: Readonly<Record<ListedStatus, { title: string; text: string }>> = {
  failed: { title: 'No job has failed', text: 'Failed jobs stand here for an hour after their end.' },
  in_progress: {
    title: 'No job runs',
    text: 'Images, audio and background responses run here while they are made.',
  },
  queued: { title: 'No job waits', text: 'Jobs wait here while their workers have enough to do.' },
  completed: {
    title: 'No job was done in the last hour',
    text: 'Jobs stand here for an hour after their end.',
  },
};

const CHOICES = LISTED.map((value) => ({ value, label: STATUSES[value].label }));

/** The queues, and the jobs in them: looked at, cancelled, queued again. */
export default function JobsPage() {
  const [search, change] = usePageSearch(Search);
  const { status = 'failed' } = search;
  const seesQueues = useMay()('GET /admin/v1/queues');
  const queues = useQuery({ ...queuesQuery, enabled: seesQueues });
  const jobs = useInfiniteQuery(jobsQuery(status));
  const rows = (jobs.data?.pages ?? []).flatMap(({ data }) => data);

  return (
    <Stack gap={0}>
      <PageHeader
        title="Jobs"
        about="Images, audio and background responses: what waits, what runs, what failed."
      />
      {queues.error && <PageFailed error={queues.error} reset={() => void queues.refetch()} />}
      {seesQueues && (
        <SimpleGrid cols={{ base: 2, lg: 3 }} spacing={{ base: 'xs', sm: 'md' }} mb="lg">
          {queues.data?.map((queue) => <QueueCard key={queue.queue} of={queue} />) ??
            (!queues.error && <Skeleton height={118} />)}
        </SimpleGrid>
      )}
      <Group justify="space-between" mb="md" gap="sm">
        <SegmentedControl
          aria-label="State of the jobs"
          data={CHOICES}
          value={status}
          onChange={(chosen) => change({ status: LISTED.find((one) => one === chosen) })}
        />
        <OpenById onOpen={(job) => change({ job })} />
      </Group>
      {jobs.error ? (
        <PageFailed error={jobs.error} reset={() => void jobs.refetch()} />
      ) : rows.length === 0 && !jobs.isPending && !jobs.hasNextPage ? (
        <EmptyState icon={IconStack2} title={EMPTY[status].title}>
          {EMPTY[status].text}
        </EmptyState>
      ) : (
        <VirtualTable
          label="Jobs"
          columns={COLUMNS}
          rows={rows}
          idOf={({ id }) => id}
          onOpen={({ id }) => change({ job: id })}
          onEnd={jobs.hasNextPage ? () => void jobs.fetchNextPage() : undefined}
          isLoading={isLoading(jobs)}
        />
      )}
      {search.job !== undefined && (
        <JobDetails
          id={search.job}
          listed={rows.find(({ id }) => id === search.job)}
          onClose={() => change({ job: undefined })}
        />
      )}
    </Stack>
  );
}

/** Jobs are remembered for two days, and listed for an hour only. */
function OpenById({ onOpen }: { onOpen: (id: string) => void }) {
  const [id, setId] = useState('');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (id.trim() !== '') onOpen(id.trim());
      }}
    >
      <TextInput
        aria-label="Id of a job"
        placeholder="Id of a job, then Enter"
        leftSection={<IconSearch size={16} aria-hidden />}
        value={id}
        onChange={(event) => setId(event.currentTarget.value)}
      />
    </form>
  );
}

const COLUMNS: readonly Column<Job>[] = [
  {
    id: 'job',
    header: 'Job',
    width: 'minmax(0, 1.6fr)',
    onNarrow: true,
    cell: ({ id, kind }) => <NameAndId name={kindName(kind)} id={id} />,
  },
  {
    id: 'status',
    header: 'State',
    width: '128px',
    onNarrow: true,
    cell: (job) => (
      <TwoLines first={<JobStatusBadge of={job} />} second={job.canRequeue && 'can be requeued'} />
    ),
  },
  {
    id: 'model',
    header: 'Model',
    width: 'minmax(0, 1fr)',
    cell: ({ model }) => <Line>{model}</Line>,
  },
  {
    id: 'error',
    header: 'Error',
    width: 'minmax(0, 1.2fr)',
    cell: ({ errorCode, errorMessage }) => <TwoLines first={errorCode ?? '–'} second={errorMessage} />,
  },
  {
    id: 'attempts',
    header: 'Attempts',
    width: '80px',
    cell: ({ attempts }) => <Line>{attempts}</Line>,
  },
  { id: 'made', header: 'Made', width: '112px', cell: ({ createdAt }) => <Moment at={createdAt} /> },
];
