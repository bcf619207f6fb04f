import { Text } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useMay } from '../../api/permissions.ts';
import { Moment } from '../../parts/moment.tsx';
import { PageFailed } from '../../parts/page/page-failed.tsx';
import { PageLink } from '../../parts/page/page-link.tsx';
import { ACTIONS } from '../audit/actions.ts';
import { type AuditFilter, auditQuery } from '../audit/audit-query.ts';
import { Facts } from '../facts.tsx';
import { Part } from './part.tsx';

const MAX_CHANGES = 6;

/** The latest changes of something, for those who may see them. */
export function Changes(of: Required<Pick<AuditFilter, 'kind' | 'subjectId'>>) {
  const isSeen = useMay()('GET /admin/v1/audit');
  const entries = useInfiniteQuery({ ...auditQuery(of), enabled: isSeen });
  if (!isSeen) return null;
  const rows = entries.data?.pages.flatMap(({ data }) => data).slice(0, MAX_CHANGES) ?? [];
  return (
    <Part title="Changes">
      {entries.error && <PageFailed error={entries.error} reset={() => void entries.refetch()} />}
      {entries.data && rows.length === 0 && <Text size="sm">No changes in the audit log.</Text>}
      <Facts
        of={rows.map((entry) => [
          `${ACTIONS[entry.action].label} by ${entry.who}`,
          <PageLink key={entry.id} to="/audit" search={{ ...of, entry: entry.id }}>
            <Moment at={entry.at} />
          </PageLink>,
        ])}
      />
      {rows.length > 0 && (
        <PageLink to="/audit" search={of}>
          View all changes
        </PageLink>
      )}
    </Part>
  );
}
