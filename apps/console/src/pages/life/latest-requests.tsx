import { useNavigate } from '@tanstack/react-router';
import type { ShownRequest } from '../../api/types.ts';
import { PageFailed } from '../../parts/page/page-failed.tsx';
import { VirtualTable } from '../../parts/table/virtual-table.tsx';
import { COLUMNS } from '../requests/columns.tsx';
import type { Life } from '../traffic/value-link.tsx';

const MAX_REQUESTS = 8;

interface LatestRequestsProps {
  /** The newest first; undefined while they are loaded. */
  readonly of: readonly ShownRequest[] | undefined;
  /** What is the same for all of them. */
  readonly without: Life;
  readonly error: Error | null;
  readonly retry: () => void;
}

export function LatestRequests({ of: requests, without, error, retry }: LatestRequestsProps) {
  const navigate = useNavigate();
  if (error) return <PageFailed error={error} reset={retry} />;
  return (
    <VirtualTable
      label="Latest requests"
      columns={COLUMNS.filter(({ id }) => without !== 'keyId' || id !== 'key')}
      rows={(requests ?? []).slice(0, MAX_REQUESTS)}
      idOf={({ id }) => id}
      onOpen={({ id }) => void navigate({ to: '/requests', search: { request: id } })}
      isLoading={requests === undefined}
    />
  );
}
