import { Badge, Group, Select, Stack, Text } from '@mantine/core';
import { IconHistory } from '@tabler/icons-react';
import { useInfiniteQuery } from '@tanstack/react-query';
import * as z from 'zod/mini';
import { isLoading } from '../../api/paged-list.ts';
import type { AuditEntry } from '../../api/types.ts';
import { EmptyState } from '../../parts/empty-state.tsx';
import { Moment } from '../../parts/moment.tsx';
import { PageFailed } from '../../parts/page/page-failed.tsx';
import { PageHeader } from '../../parts/page/page-header.tsx';
import { usePageSearch } from '../../parts/page/page-search.ts';
import { SearchInput } from '../../parts/search-input.tsx';
import { type Column, VirtualTable } from '../../parts/table/virtual-table.tsx';
import { ACTIONS, isAction, subjectName } from './actions.ts';
import { AuditDetails } from './audit-details.tsx';
import { auditQuery } from './audit-query.ts';
import { changesOf } from './changes.ts';

const Search = z.object({
  who: z.catch(z.optional(z.string()), undefined),
  action: z.catch(z.optional(z.custom<AuditEntry['action']>(isAction)), undefined),
  subject: z.catch(z.optional(z.string()), undefined),
  /** The entry that is open. */
  entry: z.catch(z.optional(z.string()), undefined),
});

const ACTION_CHOICES = Object.entries(ACTIONS).map(([value, { label }]) => ({ value, label }));

/** Who changed what and when, with what was there before. */
export default function AuditPage() {
  const [search, change] = usePageSearch(Search);
  const entries = useInfiniteQuery(auditQuery(search));
  const rows = (entries.data?.pages ?? []).flatMap(({ data }) => data);
  const isFiltered = [search.who, search.action, search.subject].some(Boolean);

  return (
    <Stack gap={0}>
      <PageHeader
        title="Audit"
        about="Who changed what, and what was there before. The last 100,000 changes are kept."
      />
      <Group mb="md" gap="sm" wrap="wrap">
        <SearchInput
          label="Find by person"
          placeholder="Who"
          value={search.who}
          onSearch={(who) => change({ who })}
        />
        <SearchInput
          label="Find by what was changed"
          placeholder="Name or id of a key, team or channel"
          value={search.subject}
          onSearch={(subject) => change({ subject })}
        />
        <Select
          flex="1 1 180px"
          aria-label="Action"
          placeholder="All actions"
          data={ACTION_CHOICES}
          searchable
          clearable
          value={search.action ?? null}
          onChange={(action) => change({ action: isAction(action) ? action : undefined })}
        />
      </Group>
      {entries.error ? (
        <PageFailed error={entries.error} reset={() => void entries.refetch()} />
      ) : rows.length === 0 && !isLoading(entries) && !entries.hasNextPage ? (
        <EmptyState
          icon={IconHistory}
          title={isFiltered ? 'No change like this' : 'Nothing has been changed yet'}
        >
          {isFiltered
            ? 'Search for a part of a name or of an id, or remove a filter.'
            : 'Changes of keys, teams and channels stand here as they are made, in the console and on the command line.'}
        </EmptyState>
      ) : (
        <VirtualTable
          label="Changes"
          columns={COLUMNS}
          rows={rows}
          idOf={({ id }) => id}
          onOpen={({ id }) => change({ entry: id })}
          onEnd={entries.hasNextPage ? () => void entries.fetchNextPage() : undefined}
          isLoading={isLoading(entries)}
        />
      )}
      {search.entry !== undefined && (
        <AuditDetails
          id={search.entry}
          known={rows.find(({ id }) => id === search.entry)}
          onClose={() => change({ entry: undefined })}
        />
      )}
    </Stack>
  );
}

const COLUMNS: readonly Column<AuditEntry>[] = [
  {
    id: 'subject',
    header: 'What',
    width: 'minmax(0, 1.4fr)',
    onNarrow: true,
    cell: (entry) => {
      const name = subjectName(entry);
      return (
        <>
          <Text size="sm" fw={500} truncate>
            {name}
          </Text>
          {name !== entry.subject && (
            <Text size="xs" c="dimmed" ff="monospace" truncate visibleFrom="sm">
              {entry.subject}
            </Text>
          )}
          <Text size="xs" c="dimmed" truncate hiddenFrom="sm">
            {ACTIONS[entry.action].label} by {entry.who}
          </Text>
        </>
      );
    },
  },
  {
    id: 'action',
    header: 'Action',
    width: '176px',
    cell: ({ action }) => (
      <Badge variant="dot" color={ACTIONS[action].color} size="sm">
        {ACTIONS[action].label}
      </Badge>
    ),
  },
  {
    id: 'who',
    header: 'Who',
    width: 'minmax(0, 0.7fr)',
    cell: ({ who }) => (
      <Text size="sm" truncate>
        {who}
      </Text>
    ),
  },
  {
    id: 'changed',
    header: 'Changed',
    width: 'minmax(0, 1.2fr)',
    cell: (entry) => (
      <Text size="sm" c="dimmed" truncate>
        {summaryOf(entry)}
      </Text>
    ),
  },
  { id: 'when', header: 'When', width: '112px', onNarrow: true, cell: ({ at }) => <Moment at={at} /> },
];

/** Which members are different; of a rest, its reason. Of what was made or deleted, all are. */
function summaryOf(entry: AuditEntry): string {
  if (entry.before !== null && entry.after !== null)
    return (
      changesOf(entry)
        .map(({ path }) => path)
        .join(', ') || '–'
    );
  return typeof entry.after?.reason === 'string' ? entry.after.reason : '–';
}
