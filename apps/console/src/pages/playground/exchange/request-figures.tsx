import { Group, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ApiError } from '../../../api/client.ts';
import type { ShownRequest } from '../../../api/types.ts';
import { cost, milliseconds } from '../../../parts/numbers.ts';
import { PageLink } from '../../../parts/page/page-link.tsx';
import { usedOf } from '../../requests/cost-table.tsx';
import { requestQuery } from '../../requests/requests-query.ts';
import type { Exchange } from './exchange.ts';

const READ_AGAIN_MS = 500;
const MAX_READ_AGAIN_MS = 3_000;
/** A request that was refused at once has no record; that of any other comes, however busy the machine is. */
export const MAX_READS = { failed: 8, other: 40 };

/** The record is written when the request has ended, a moment after its answer has. */
export const recordQuery = (id: string, maxReads: number) => ({
  ...requestQuery(id),
  retry: (failures: number, error: Error) =>
    failures < maxReads && error instanceof ApiError && error.status === 404,
  retryDelay: (failures: number) => Math.min(READ_AGAIN_MS * (failures + 1), MAX_READ_AGAIN_MS),
});

/** How long a request took, what it used and what it cost. */
export function RequestFigures({
  of,
}: {
  of: Pick<Exchange<unknown>, 'state' | 'requestId' | 'firstOutputMs' | 'totalMs'>;
}) {
  const { state, requestId, firstOutputMs, totalMs } = of;
  const record = useQuery({
    ...recordQuery(requestId ?? '', state === 'failed' ? MAX_READS.failed : MAX_READS.other),
    enabled: requestId !== null && state !== 'running',
  });
  return (
    <Group gap="2px 16px" aria-label="Figures" role="group">
      <Figure name="first output">{firstOutputMs === null ? '–' : milliseconds(firstOutputMs)}</Figure>
      <Figure name="total">{totalMs === null ? '–' : milliseconds(totalMs)}</Figure>
      {record.data && <Recorded of={record.data} />}
      {record.isFetching && record.data === undefined && (
        <Text size="xs" c="dimmed">
          Its cost follows …
        </Text>
      )}
      {requestId !== null && state !== 'running' && (
        <PageLink to="/requests" search={{ request: requestId }} size="xs">
          Request
        </PageLink>
      )}
    </Group>
  );
}

/** What it used and cost. */
export const Recorded = ({ of: request }: { of: ShownRequest }) => (
  <>
    {usedOf(request).map(([name, count]) => (
      <Figure key={name} name={name.toLowerCase()}>
        {count}
      </Figure>
    ))}
    <Figure name="cost">
      {cost(request.costMicroUsd)}
      {request.estimated && ', estimated'}
    </Figure>
    {request.dropped.length > 0 && <Figure name="omitted">{request.dropped.join(', ')}</Figure>}
  </>
);

export const Figure = ({ name, children }: { name: string; children: ReactNode }) => (
  <Text size="xs" style={{ overflowWrap: 'anywhere' }}>
    <Text span size="xs" c="dimmed">
      {name}
    </Text>{' '}
    {children}
  </Text>
);
