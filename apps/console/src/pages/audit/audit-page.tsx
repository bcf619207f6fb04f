import { Badge, Group, Pill, Select, Text } from '@mantine/core';
import { IconHistory } from '@tabler/icons-react';
import { useInfiniteQuery } from '@tanstack/react-query';
import * as z from 'zod/mini';
import type { AuditEntry } from '../../api/types.ts';
import { Moment } from '../../parts/moment.tsx';
import { ListPage } from '../../parts/page/list-page.tsx';
import { PageLink } from '../../parts/page/page-link.tsx';
import { usePageSearch } from '../../parts/page/page-search.ts';
import { SearchInput } from '../../parts/search-input.tsx';
import { csvWith } from '../../parts/table/csv.ts';
import type { Column } from '../../parts/table/virtual-table.tsx';
import { lifeHref } from '../traffic/value-link.tsx';
import { ACTIONS, isAction, lifeOf, subjectName } from './actions.ts';
import { AuditDetails } from './audit-details.tsx';
import { AUDIT_KINDS, auditQuery } from './audit-query.ts';
import { changesOf } from './changes.ts';

const Search = z.object({
  who: z.catch(z.optional(z.string()), undefined),
  action: z.catch(z.optional(z.custom<AuditEntry['action']>(isAction)), undefined),
  subject: z.catch(z.optional(z.string()), undefined),
  /** One thing alone, as its page links to its changes. */
  subjectId: z.catch(z.optional(z.string()), undefined),
  kind: z.catch(z.optional(z.enum(AUDIT_KINDS)), undefined),
  /** The entry that is open. */
  entry: z.catch(z.optional(z.string()), undefined),
});

const ACTION_CHOICES = Object.entries(ACTIONS).map(([value, { label }]) => ({ value, label }));

/** Who changed what and when, with what was there before. */
export default function AuditPage() {
  const { search, change, open, close } = usePageSearch(Search);
  const entries = useInfiniteQuery(auditQuery(search));
  const rows = (entries.data?.pages ?? []).flatMap(({ data }) => data);
  const isFiltered = [search.who, search.action, search.subject, search.subjectId].some(Boolean);

  return (
    <ListPage
      title="Audit"
      about="Who changed what, and its previous value. The last 100,000 changes are stored."
      label="Changes"
      filters={
        <Group mb="md" gap="sm" wrap="wrap">
          <SearchInput
            label="Search by person"
            placeholder="Who"
            value={search.who}
            onSearch={(who) => change({ who })}
          />
          <SearchInput
            label="Search by subject"
            placeholder="Name or ID of a key, team or channel"
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
          {search.subjectId !== undefined && (
            <Pill
              withRemoveButton
              removeButtonProps={{ 'aria-label': 'Remove: one subject', 'aria-hidden': false, tabIndex: 0 }}
              onRemove={() => change({ subjectId: undefined, kind: undefined })}
            >
              {search.kind ?? 'subject'} {search.subjectId}
            </Pill>
          )}
        </Group>
      }
      list={entries}
      empty={{
        icon: IconHistory,
        title: isFiltered ? 'No matching changes' : 'No changes yet',
        children: isFiltered
          ? 'Search for part of a name or ID, or remove a filter.'
          : 'Changes to keys, teams and channels are listed here, whether made in the console or on the command line.',
      }}
      columns={COLUMNS}
      rows={rows}
      idOf={({ id }) => id}
      onOpen={({ id }) => open({ entry: id })}
      csv={CSV}
    >
      {search.entry !== undefined && (
        <AuditDetails
          id={search.entry}
          known={rows.find(({ id }) => id === search.entry)}
          onClose={() => close('entry')}
        />
      )}
    </ListPage>
  );
}

const CSV = {
  file: 'audit.csv',
  textOf: csvWith<AuditEntry>({
    When: ({ at }) => at,
    Who: ({ who }) => who,
    Action: ({ action }) => ACTIONS[action].label,
    Subject: subjectName,
    'Subject ID': ({ subject }) => subject,
    Changes: (entry) =>
      changesOf(entry)
        .map(({ path, before = 'none', after = 'none' }) => `${path}: ${before} → ${after}`)
        .join('; '),
    'Request ID': ({ requestId }) => requestId,
  }),
};

const COLUMNS: readonly Column<AuditEntry>[] = [
  {
    id: 'subject',
    header: 'Subject',
    width: 'minmax(0, 1.4fr)',
    onNarrow: true,
    cell: (entry) => {
      const name = subjectName(entry);
      const group = lifeOf(entry);
      return (
        <>
          <Text size="sm" fw={500} truncate>
            {group === undefined ? (
              name
            ) : (
              <PageLink to={lifeHref(group, entry.subject)} size="inherit" look="plain">
                {name}
              </PageLink>
            )}
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
