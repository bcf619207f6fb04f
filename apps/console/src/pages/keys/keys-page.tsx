import { Button, CloseButton, Group, Select, Stack, Text, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { IconKey, IconPlus, IconSearch } from '@tabler/icons-react';
import { useInfiniteQuery, useQueries, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import * as z from 'zod/mini';
import { useMay } from '../../api/permissions.ts';
import type { Key } from '../../api/types.ts';
import { EmptyState } from '../../parts/empty-state.tsx';
import { Moment } from '../../parts/moment.tsx';
import { PageFailed } from '../../parts/page-failed.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { usePageSearch } from '../../parts/page-search.ts';
import { type Column, VirtualTable } from '../../parts/virtual-table.tsx';
import { BudgetMeter } from '../budget-meter.tsx';
import { teamsQuery } from '../teams/teams-query.ts';
import { KeyDetails } from './key-details.tsx';
import { KEY_STATES, KeyStateBadge } from './key-state.tsx';
import { type BudgetBalance, budgetsQuery, keysQuery } from './keys-query.ts';
import { NewKey } from './new-key.tsx';
import { SecretDialog, type ShownSecret } from './secret-dialog.tsx';

const Search = z.object({
  search: z.catch(z.optional(z.string()), undefined),
  team: z.catch(z.optional(z.string()), undefined),
  state: z.catch(z.optional(z.enum(KEY_STATES)), undefined),
  /** The key that is open. */
  key: z.catch(z.optional(z.string()), undefined),
  /** Whether the form for a new one is open. */
  new: z.catch(z.optional(z.boolean()), undefined),
});

/** Every key: found, made, changed, rotated and revoked. */
export default function KeysPage() {
  const [search, change] = usePageSearch(Search);
  const mayMake = useMay()('POST /admin/v1/keys');
  const [secret, setSecret] = useState<ShownSecret>();
  const keys = useInfiniteQuery(keysQuery(search));
  const pages = keys.data?.pages ?? [];
  const rows = pages.flatMap(({ data }) => data);
  const budgets = useQueries({
    queries: pages.map(({ data }) => budgetsQuery(data)),
    combine: (results) => Object.assign({}, ...results.map(({ data }) => data ?? {})),
  });
  const isFiltered = [search.search, search.team, search.state].some(Boolean);

  return (
    <Stack gap={0}>
      <PageHeader title="Keys" about="Each program and each person gets a key of their own.">
        {mayMake && (
          <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => change({ new: true })}>
            New key
          </Button>
        )}
      </PageHeader>
      <Filters search={search} change={change} />
      {keys.error ? (
        <PageFailed error={keys.error} reset={() => void keys.refetch()} />
      ) : rows.length === 0 && !keys.isPending && !keys.hasNextPage ? (
        <EmptyState icon={IconKey} title={isFiltered ? 'No key like this' : 'No keys yet'}>
          {isFiltered
            ? 'Search for a part of a name, an owner, a team, a label or an id, or remove a filter.'
            : 'Make one for the first program that is to call the gateway.'}
        </EmptyState>
      ) : (
        <VirtualTable
          label="Keys"
          columns={columnsWith(budgets)}
          rows={rows}
          idOf={({ id }) => id}
          onOpen={({ id }) => change({ key: id })}
          onEnd={keys.hasNextPage ? () => void keys.fetchNextPage() : undefined}
          isLoading={keys.isFetching && !keys.isRefetching}
        />
      )}
      {search.new && mayMake && (
        <NewKey
          onMade={(shown) => {
            change({ new: undefined });
            setSecret(shown);
          }}
          onClose={() => change({ new: undefined })}
        />
      )}
      {search.key !== undefined && (
        <KeyDetails id={search.key} onSecret={setSecret} onClose={() => change({ key: undefined })} />
      )}
      {secret && <SecretDialog shown={secret} onClose={() => setSecret(undefined)} />}
    </Stack>
  );
}

const columnsWith = (budgets: Readonly<Record<string, BudgetBalance | null>>): readonly Column<Key>[] => [
  {
    id: 'name',
    header: 'Name',
    width: 'minmax(0, 2fr)',
    onNarrow: true,
    cell: ({ name, id }) => (
      <>
        <Text size="sm" fw={500} truncate>
          {name}
        </Text>
        <Text size="xs" c="dimmed" ff="monospace" truncate>
          {id}
        </Text>
      </>
    ),
  },
  { id: 'state', header: 'State', width: '92px', onNarrow: true, cell: (key) => <KeyStateBadge of={key} /> },
  {
    id: 'team',
    header: 'Team',
    width: 'minmax(0, 1fr)',
    cell: ({ team }) => (
      <Text size="sm" truncate>
        {team ?? '–'}
      </Text>
    ),
  },
  {
    id: 'models',
    header: 'Models',
    width: 'minmax(0, 1.2fr)',
    cell: ({ models }) => (
      <Text size="sm" truncate>
        {models?.join(', ') ?? 'all'}
      </Text>
    ),
  },
  {
    id: 'budget',
    header: 'Budget',
    width: 'minmax(150px, 1.4fr)',
    cell: ({ id, budget }) => <BudgetMeter of={budget} balance={budgets[id] ?? null} />,
  },
  { id: 'made', header: 'Made', width: '108px', cell: ({ createdAt }) => <Moment at={createdAt} /> },
];

interface FiltersProps {
  readonly search: z.output<typeof Search>;
  readonly change: (change: {
    search?: string | undefined;
    team?: string | undefined;
    state?: z.output<typeof Search>['state'];
  }) => void;
}

const SEARCH_DELAY_MS = 250;

function Filters({ search, change }: FiltersProps) {
  const [text, setText] = useState(search.search ?? '');
  const { data: teams = [] } = useQuery(teamsQuery);
  const searchFor = useDebouncedCallback(
    (value: string) => change({ search: value || undefined }),
    SEARCH_DELAY_MS,
  );
  const type = (value: string): void => {
    setText(value);
    searchFor(value.trim());
  };
  return (
    <Group mb="md" gap="sm" wrap="wrap">
      <TextInput
        flex="3 1 240px"
        aria-label="Search keys"
        placeholder="Name, owner, label or id"
        leftSection={<IconSearch size={16} aria-hidden />}
        rightSection={
          text !== '' && <CloseButton size="sm" aria-label="Clear the search" onClick={() => type('')} />
        }
        value={text}
        onChange={(event) => type(event.currentTarget.value)}
      />
      <Select
        flex="1 1 130px"
        aria-label="Team"
        placeholder="All teams"
        data={teams.map(({ name }) => name)}
        searchable
        clearable
        value={search.team ?? null}
        onChange={(team) => change({ team: team ?? undefined })}
      />
      <Select
        flex="1 1 110px"
        aria-label="State"
        placeholder="All states"
        data={[...KEY_STATES]}
        clearable
        value={search.state ?? null}
        onChange={(state) => change({ state: KEY_STATES.find((one) => one === state) })}
      />
    </Group>
  );
}
