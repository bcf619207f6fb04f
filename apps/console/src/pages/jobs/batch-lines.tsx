import { Anchor, Button, Group, Progress, SegmentedControl, Stack, Table, Text, Title } from '@mantine/core';
import { useInfiniteQuery, useMutation } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { Job, JobDetail } from '../../api/types.ts';
import { wholeNumber } from '../../parts/numbers.ts';
import { PageLink } from '../../parts/page/page-link.tsx';
import { download } from '../../parts/table/csv.ts';
import { JobStatusBadge, STATUSES } from './job-names.tsx';
import { hasEnded, LISTED, linesQuery } from './jobs-query.ts';
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
        {completed + failed < total &&
          `, ${wholeNumber(total - completed - failed)} ${hasEnded(batch) ? 'not run' : 'remaining'}`}
      </Text>
      <LineList key={String(hasEnded(batch))} of={batch} firstShown={failed > 0 ? 'failed' : 'completed'} />
      {maySee && hasEnded(batch) && <Results of={batch} />}
    </Stack>
  );
}

interface Line extends Pick<Job, 'id' | 'status'> {
  readonly line: number;
}

/** A line's job; or what was recorded of one that its batch has done itself, which is when it has ended. */
function LineLink({ of: line, batch }: { of: Line; batch: JobDetail }) {
  const shown = wholeNumber(line.line);
  const label = `Line ${line.line}`;
  if (batch.kind !== 'text.batch')
    return (
      <PageLink to="/jobs" search={{ job: line.id }} label={label}>
        {shown}
      </PageLink>
    );
  if (line.status !== 'completed' && line.status !== 'failed') return shown;
  return (
    <PageLink to="/requests" search={{ request: line.id }} label={label}>
      {shown}
    </PageLink>
  );
}

/** Lines that were at work when their batch ended may still be. */
const LISTED_AT_END = ['failed', 'in_progress', 'completed', 'cancelled'] as const;

function LineList({ of: batch, firstShown }: { of: JobDetail; firstShown: Job['status'] }) {
  const [status, setStatus] = useState(firstShown);
  const choices = hasEnded(batch) ? LISTED_AT_END : LISTED;
  const { data, error, isFetching, hasNextPage, fetchNextPage } = useInfiniteQuery(linesQuery(batch, status));
  const lines = (data?.pages ?? []).flatMap((page) => page.data);
  // A page is what was found among so many lines, which may be none.
  const seeksFirst = lines.length === 0 && hasNextPage && !isFetching && !error;
  useEffect(() => {
    if (seeksFirst) void fetchNextPage();
  }, [seeksFirst, fetchNextPage]);
  return (
    <>
      <SegmentedControl
        size="xs"
        aria-label="Status of lines"
        data={choices.map((value) => ({ value, label: STATUSES[value].label }))}
        value={status}
        onChange={(chosen) => setStatus(choices.find((one) => one === chosen) ?? status)}
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
                  <LineLink of={line} batch={batch} />
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
          No matching lines.
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
        {fetched.isPending ? 'Loading results …' : 'Download results (JSONL)'}
      </Anchor>
      {fetched.error && (
        <Text size="xs" c="var(--console-worse)" role="alert">
          {fetched.error.message}
        </Text>
      )}
    </div>
  );
}
