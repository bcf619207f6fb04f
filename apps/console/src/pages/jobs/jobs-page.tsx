import { Group, SegmentedControl, SimpleGrid, Text, TextInput } from '@mantine/core';
import { IconSearch, IconStack2 } from '@tabler/icons-react';
import { type QueryClient, useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { Fragment, useState } from 'react';
import * as z from 'zod/mini';
import { useMay } from '../../api/permissions.ts';
import type { Job } from '../../api/types.ts';
import { Moment } from '../../parts/moment.tsx';
import { wholeNumber } from '../../parts/numbers.ts';
import { ListPage } from '../../parts/page/list-page.tsx';
import { PageFailed } from '../../parts/page/page-failed.tsx';
import { PageLink } from '../../parts/page/page-link.tsx';
import { usePageSearch } from '../../parts/page/page-search.ts';
import { Line, NameAndId, TwoLines } from '../../parts/table/cell-text.tsx';
import { csvWith } from '../../parts/table/csv.ts';
import type { Column } from '../../parts/table/virtual-table.tsx';
import { readKeyNames } from '../keys/keys-query.ts';
import { ValueLink } from '../traffic/value-link.tsx';
import { JobDetails } from './job-details.tsx';
import { JobStatusBadge, kindName, STATUSES } from './job-names.tsx';
import { jobsQuery, LISTED, type ListedStatus, queuesQuery } from './jobs-query.ts';
import { QueueCard, QueueSkeleton } from './queue-card.tsx';

const Search = z.object({
  status: z.catch(z.optional(z.enum(LISTED)), undefined),
  /** The job that is open. */
  job: z.catch(z.optional(z.string()), undefined),
});

const EMPTY: Readonly<Record<ListedStatus, { title: string; children: string }>> = {
  failed: { title: 'No failed jobs', children: 'A job that failed earlier is found by its ID for two days.' },
  in_progress: {
    title: 'No jobs running',
    children: 'Images, audio and background responses are listed here while they are being made.',
  },
  queued: { title: 'No jobs waiting', children: 'Jobs are listed here while all workers are busy.' },
  completed: {
    title: 'No jobs completed in the last hour',
    children: 'A job that ended earlier is found by its ID for two days.',
  },
};

/** As many as there are: what is below them does not move when they come. */
const QUEUES = Array.from({ length: 8 }, (_, at) => at);

const CHOICES = LISTED.map((value) => ({ value, label: STATUSES[value].label }));

/** The queues, and the jobs in them: looked at, cancelled, queued again. */
export default function JobsPage() {
  const { search, change, open, close } = usePageSearch(Search);
  const { status = 'failed' } = search;
  const seesQueues = useMay()('GET /admin/v1/queues');
  const queues = useQuery({ ...queuesQuery, enabled: seesQueues });
  const jobs = useInfiniteQuery(jobsQuery(status));
  const client = useQueryClient();
  const rows = (jobs.data?.pages ?? []).flatMap(({ data }) => data);

  return (
    <ListPage
      title="Jobs"
      about="Images, audio, background responses and batches: what is waiting, running and failed."
      filters={
        <>
          {queues.error && <PageFailed error={queues.error} reset={() => void queues.refetch()} />}
          {seesQueues && (
            <SimpleGrid cols={{ base: 2, lg: 3 }} spacing={{ base: 'xs', sm: 'md' }} mb="lg">
              {queues.data?.map((queue) => <QueueCard key={queue.queue} of={queue} />) ??
                (!queues.error && QUEUES.map((at) => <QueueSkeleton key={at} />))}
            </SimpleGrid>
          )}
          <Group justify="space-between" mb="md" gap="sm">
            <SegmentedControl
              aria-label="Job status"
              data={CHOICES}
              value={status}
              onChange={(chosen) => change({ status: LISTED.find((one) => one === chosen) })}
            />
            <OpenById onOpen={(job) => open({ job })} />
          </Group>
          {hasEndedAs(status) && <EarlierJobs failed={status === 'failed'} />}
        </>
      }
      list={jobs}
      empty={{ icon: IconStack2, ...EMPTY[status] }}
      columns={COLUMNS}
      rows={rows}
      idOf={({ id }) => id}
      onOpen={({ id }) => open({ job: id })}
      csv={{ file: 'jobs.csv', textOf: (all) => jobsCsv(client, all) }}
    >
      {search.job !== undefined && (
        <JobDetails
          id={search.job}
          listed={rows.find(({ id }) => id === search.job)}
          onClose={() => close('job')}
        />
      )}
    </ListPage>
  );
}

/** The jobs of a list; keys by their names, beside their ids. */
async function jobsCsv(queries: QueryClient, jobs: readonly Job[]): Promise<string> {
  const names = await readKeyNames(
    queries,
    jobs.map(({ keyId }) => keyId),
  );
  return csvWith<Job>({
    'Job ID': ({ id }) => id,
    Kind: ({ kind }) => kindName(kind),
    Status: ({ status }) => STATUSES[status].label,
    Model: ({ model }) => model,
    Key: ({ keyId }) => names.get(keyId) ?? keyId,
    'Key ID': ({ keyId }) => keyId,
    'Error code': ({ errorCode }) => errorCode,
    Error: ({ errorMessage }) => errorMessage,
    Attempts: ({ attempts }) => attempts,
    Created: ({ createdAt }) => createdAt,
    Finished: ({ finishedAt }) => finishedAt,
  })(jobs);
}

const hasEndedAs = (status: ListedStatus): boolean => status === 'failed' || status === 'completed';

/** Their records: those of jobs stay as long as those of all requests. */
const EARLIER = ['images', 'speech', 'transcriptions'] as const;

function EarlierJobs({ failed }: { failed: boolean }) {
  return (
    <Text size="sm" c="dimmed" mb="md">
      Listed for one hour. Earlier ones are among the requests:{' '}
      {EARLIER.map((endpoint, at) => (
        <Fragment key={endpoint}>
          {at > 0 && ', '}
          <PageLink to="/requests" search={{ endpoint, ...(failed && { failed: true }) }} look="quiet">
            {endpoint}
          </PageLink>
        </Fragment>
      ))}
      .
    </Text>
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
        aria-label="Job ID"
        placeholder="Job ID, then Enter"
        leftSection={<IconSearch size={16} aria-hidden />}
        value={id}
        onChange={(event) => setId(event.currentTarget.value)}
      />
    </form>
  );
}

const progressOf = ({ total, completed, failed }: NonNullable<Job['counts']>): string =>
  `${wholeNumber(completed + failed)} of ${wholeNumber(total)}`;

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
    header: 'Status',
    width: '128px',
    onNarrow: true,
    cell: (job) => (
      <TwoLines
        first={<JobStatusBadge of={job} />}
        second={job.counts === null ? job.canRequeue && 'can be requeued' : progressOf(job.counts)}
      />
    ),
  },
  {
    id: 'model',
    header: 'Model',
    width: 'minmax(0, 1fr)',
    cell: ({ model }) => (
      <Line>
        <ValueLink group="model" value={model} look="plain" />
      </Line>
    ),
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
  { id: 'created', header: 'Created', width: '112px', cell: ({ createdAt }) => <Moment at={createdAt} /> },
];
