import { Anchor, Button, Group, Progress, SegmentedControl, Stack, Table, Text, Title } from '@mantine/core';
import { useInfiniteQuery, useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import type { JobDetail } from '../../api/types.ts';
import { wholeNumber } from '../../parts/numbers.ts';
import { PageLink } from '../../parts/page/page-link.tsx';
import { download } from '../../parts/table/csv.ts';
import { JobStatusBadge } from './job-names.tsx';
import { hasEnded, LINE_STATUSES, type LineStatus, linesQuery } from './jobs-query.ts';
import { fetchBatchResults } from './results-query.ts';

interface BatchLinesProps {
  readonly of: JobDetail;
  readonly counts: NonNullable<JobDetail['counts']>;
  /** Whether the person may call the API under the batch's key, which is how its results are read. */
  readonly maySee: boolean;
}

/** A batch: how far it is, which of its lines failed and why, and its results as a file. */
export function BatchLines({ of: batch, counts, maySee }: BatchLinesProps) {
  const { total, completed, failed } = counts;
  return (
    <Stack gap="xs">
      <Title order={2} size="h5">
        Lines
      </Title>
      <Progress.Root size="sm" aria-label="Lines of the batch">
        <Progress.Section value={(100 * completed) / total} color="teal" aria-label="Lines done" />
        <Progress.Section value={(100 * failed) / total} color="red" aria-label="Lines failed" />
      </Progress.Root>
      <Text size="sm">
        {wholeNumber(completed)} of {wholeNumber(total)} done
        {failed > 0 && `, ${wholeNumber(failed)} failed`}
        {completed + failed < total && `, ${wholeNumber(total - completed - failed)} to do`}
      </Text>
      <LineList of={batch} firstShown={failed > 0 ? 'failed' : 'completed'} />
      {maySee && hasEnded(batch) && <Results of={batch} />}
    </Stack>
  );
}

const LABELS: Readonly<Record<LineStatus, string>> = {
  failed: 'Failed',
  in_progress: 'Running',
  queued: 'To do',
  completed: 'Done',
};

const CHOICES = LINE_STATUSES.map((value) => ({ value, label: LABELS[value] }));

function LineList({ of: { id }, firstShown }: { of: JobDetail; firstShown: LineStatus }) {
  const [status, setStatus] = useState<LineStatus>(firstShown);
  const { data, error, isFetching, hasNextPage, fetchNextPage } = useInfiniteQuery(linesQuery(id, status));
  const lines = (data?.pages ?? []).flatMap((page) => page.data);
  return (
    <>
      <SegmentedControl
        size="xs"
        aria-label="Status of lines"
        data={CHOICES}
        value={status}
        onChange={(chosen) => setStatus(LINE_STATUSES.find((one) => one === chosen) ?? status)}
      />
      {error && (
        <Text size="sm" c="var(--console-worse)" role="alert">
          {error.message}
        </Text>
      )}
      {lines.length > 0 && (
        <Table fz="sm" aria-label="Lines" layout="fixed" verticalSpacing={4}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th w={70}>Line</Table.Th>
              <Table.Th w={120}>Status</Table.Th>
              <Table.Th>Error</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {lines.map((line) => (
              <Table.Tr key={line.id}>
                <Table.Td>
                  <PageLink to="/jobs" search={{ job: line.id }} label={`Line ${line.line}`}>
                    {wholeNumber(line.line)}
                  </PageLink>
                </Table.Td>
                <Table.Td>
                  <JobStatusBadge of={line} />
                </Table.Td>
                <Table.Td style={{ overflowWrap: 'anywhere' }}>
                  {line.errorMessage ?? line.errorCode ?? '–'}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
      {lines.length === 0 && !isFetching && !hasNextPage && !error && (
        <Text size="sm" c="dimmed">
          No such lines.
        </Text>
      )}
      {hasNextPage && (
        <Group>
          <Button size="xs" variant="default" loading={isFetching} onClick={() => void fetchNextPage()}>
            Show more
          </Button>
        </Group>
      )}
    </>
  );
}

/** Its results as its caller gets them. */
function Results({ of: batch }: { of: JobDetail }) {
  const fetched = useMutation({
    mutationFn: () => fetchBatchResults(batch),
    onSuccess: (file) => download(`${batch.id}.jsonl`, file),
  });
  return (
    <div>
      <Anchor
        component="button"
        type="button"
        size="sm"
        disabled={fetched.isPending}
        onClick={() => fetched.mutate()}
      >
        {fetched.isPending ? 'Loading the results …' : 'Download the results (JSONL)'}
      </Anchor>
      {fetched.error && (
        <Text size="xs" c="var(--console-worse)" role="alert">
          {fetched.error.message}
        </Text>
      )}
    </div>
  );
}
