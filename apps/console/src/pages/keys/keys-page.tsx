import { Button, Group, Select } from '@mantine/core';
import { IconKey, IconPlus } from '@tabler/icons-react';
import { useInfiniteQuery, useQueries, useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useCallback, useMemo, useState } from 'react';
import * as z from 'zod/mini';
import { useMay } from '../../api/permissions.ts';
import type { Key, ListedKey } from '../../api/types.ts';
import { Moment } from '../../parts/moment.tsx';
import { cost, shortNumber } from '../../parts/numbers.ts';
import { ListPage } from '../../parts/page/list-page.tsx';
import { usePageSearch } from '../../parts/page/page-search.ts';
import { SearchInput } from '../../parts/search-input.tsx';
import { Line, NameAndId } from '../../parts/table/cell-text.tsx';
import { csvWith } from '../../parts/table/csv.ts';
import type { Column } from '../../parts/table/virtual-table.tsx';
import { BudgetMeter } from '../budget-meter.tsx';
import { teamsQuery } from '../teams/teams-query.ts';
import { ValueLink } from '../traffic/value-link.tsx';
import { KEY_STATES, KeyStateBadge, keyState } from './key-state.tsx';
import { type BudgetBalance, budgetsQuery, KEY_SORTS, type KeySort, keysQuery } from './keys-query.ts';
import type { ShownSecret } from './secret-dialog.tsx';

/** What is opened above the list comes when it is. */
const NewKey = lazy(() => import('./new-key.tsx'));
const KeyDetails = lazy(() => import('./key-details.tsx').then((all) => ({ default: all.KeyDetails })));
const SecretDialog = lazy(() => import('./secret-dialog.tsx').then((all) => ({ default: all.SecretDialog })));

const Search = z.object({
  search: z.catch(z.optional(z.string()), undefined),
  team: z.catch(z.optional(z.string()), undefined),
  state: z.catch(z.optional(z.enum(KEY_STATES)), undefined),
  sort: z.catch(z.optional(z.enum(KEY_SORTS)), undefined),
  isAscending: z.catch(z.optional(z.boolean()), undefined),
  /** The key that is open. */
  key: z.catch(z.optional(z.string()), undefined),
  /** Whether the form for a new one is open. */
  new: z.catch(z.optional(z.boolean()), undefined),
});

/** Every key: found, made, changed, rotated and revoked. */
export default function KeysPage() {
  const { search, change, open, close } = usePageSearch(Search);
  const mayMake = useMay()('POST /admin/v1/keys');
  const [secret, setSecret] = useState<ShownSecret>();
  const keys = useInfiniteQuery(keysQuery(search));
  const pages = keys.data?.pages ?? NO_PAGES;
  const rows = useMemo(
    () => [...new Map(pages.flatMap(({ data }) => data).map((key) => [key.id, key])).values()],
    [pages],
  );
  const budgets = useQueries({
    queries: useMemo(() => pages.map(({ data }) => budgetsQuery(data)), [pages]),
    combine: together,
  });
  const openKey = useCallback(({ id }: Key) => open({ key: id }), [open]);
  const { sort = 'created', isAscending = false } = search;
  const columns = useMemo(() => columnsWith(budgets, sort), [budgets, sort]);
  /** The same header again turns the order round. */
  const sortBy = useCallback(
    (wanted: string) =>
      change({
        sort: KEY_SORTS.find((one) => one === wanted),
        isAscending: wanted === sort && !isAscending ? true : undefined,
      }),
    [change, sort, isAscending],
  );
  const isFiltered = [search.search, search.team, search.state].some(Boolean);

  return (
    <ListPage
      title="Keys"
      about="Give each program and each person a key of its own."
      action={
        mayMake && (
          <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => open({ new: true })}>
            New key
          </Button>
        )
      }
      filters={<Filters search={search} change={change} />}
      list={keys}
      empty={{
        icon: IconKey,
        title: isFiltered ? 'No matching keys' : 'No keys yet',
        children: isFiltered
          ? 'Search for part of a name, owner, team, label or ID, or remove a filter.'
          : 'Create one for the first program that will call the gateway.',
      }}
      columns={columns}
      rows={rows}
      idOf={({ id }) => id}
      onOpen={openKey}
      sorted={{ by: sort, isAscending }}
      onSort={sortBy}
      csv={CSV}
    >
      <Suspense>
        {search.new && mayMake && (
          <NewKey
            onMade={(shown) => {
              close('new');
              setSecret(shown);
            }}
            onClose={() => close('new')}
          />
        )}
        {search.key !== undefined && (
          <KeyDetails id={search.key} onSecret={setSecret} onClose={() => close('key')} />
        )}
        {secret && <SecretDialog shown={secret} onClose={() => setSecret(undefined)} />}
      </Suspense>
    </ListPage>
  );
}

const NO_PAGES: { data: ListedKey[] }[] = [];

type Budgets = Readonly<Record<string, BudgetBalance | null>>;

const together = (results: readonly { readonly data: Budgets | undefined }[]): Budgets =>
  Object.assign({}, ...results.map(({ data }) => data ?? {}));

/** What keys are sorted by. */
const USE_COLUMNS: readonly (Column<ListedKey> & { readonly sort: KeySort })[] = [
  {
    id: 'requests',
    header: 'Req. 30 d',
    width: '84px',
    sort: 'requests',
    cell: ({ last30Days: { requests } }) => <Line>{shortNumber(requests)}</Line>,
  },
  {
    id: 'spend',
    header: 'Spend 30 d',
    width: '92px',
    sort: 'spend',
    cell: ({ last30Days: { costMicroUsd } }) => <Line>{cost(costMicroUsd)}</Line>,
  },
  {
    id: 'used',
    header: 'Last used',
    width: '104px',
    sort: 'lastUsed',
    cell: ({ lastUsedAt }) => (lastUsedAt === null ? <Line>–</Line> : <Moment at={lastUsedAt} />),
  },
  {
    id: 'created',
    header: 'Created',
    width: '104px',
    sort: 'created',
    cell: ({ createdAt }) => <Moment at={createdAt} />,
  },
];

const SORT_LABELS: Readonly<Record<KeySort, readonly [descending: string, ascending: string]>> = {
  created: ['Newest first', 'Oldest first'],
  lastUsed: ['Last used first', 'Longest unused first'],
  requests: ['Most requests first', 'Fewest requests first'],
  spend: ['Highest spend first', 'Lowest spend first'],
};
const SORT_CHOICES = KEY_SORTS.flatMap((sort) => [
  { value: `${sort} false`, label: SORT_LABELS[sort][0] },
  { value: `${sort} true`, label: SORT_LABELS[sort][1] },
]);

const CSV = {
  file: 'keys.csv',
  textOf: csvWith<ListedKey>({
    Name: ({ name }) => name,
    'Key ID': ({ id }) => id,
    Status: keyState,
    Team: ({ team }) => team,
    Owner: ({ owner }) => owner,
    Models: ({ models }) => models?.join(' ') ?? 'all',
    'Budget in USD': ({ budget }) => budget?.usd ?? null,
    'Budget period': ({ budget }) => budget?.period ?? null,
    'Requests in 30 days': ({ last30Days }) => last30Days.requests,
    'Spend in 30 days in USD': ({ last30Days }) => last30Days.costMicroUsd / 1e6,
    'Last used': ({ lastUsedAt }) => lastUsedAt,
    Created: ({ createdAt }) => createdAt,
    Expires: ({ expiresAt }) => expiresAt,
    Revoked: ({ revokedAt }) => revokedAt,
  }),
};

const columnsWith = (budgets: Budgets, sort: KeySort): readonly Column<ListedKey>[] => [
  {
    id: 'name',
    header: 'Name',
    width: 'minmax(0, 2fr)',
    onNarrow: true,
    cell: ({ name, id }) => <NameAndId name={name} id={id} />,
  },
  { id: 'state', header: 'Status', width: '92px', onNarrow: true, cell: (key) => <KeyStateBadge of={key} /> },
  {
    id: 'team',
    header: 'Team',
    width: 'minmax(0, 1fr)',
    cell: ({ team }) => (
      <Line>{team === null ? '–' : <ValueLink group="team" value={team} look="plain" />}</Line>
    ),
  },
  {
    id: 'budget',
    header: 'Budget',
    width: 'minmax(150px, 1.4fr)',
    cell: ({ id, budget }) => <BudgetMeter of={budget} balance={budgets[id] ?? null} says="spent" />,
  },
  ...USE_COLUMNS.map((column) => ({ ...column, onNarrow: column.sort === sort && sort !== 'created' })),
];

interface FiltersProps {
  readonly search: z.output<typeof Search>;
  readonly change: (change: {
    search?: string | undefined;
    team?: string | undefined;
    state?: z.output<typeof Search>['state'];
    sort?: KeySort | undefined;
    isAscending?: boolean | undefined;
  }) => void;
}

function Filters({ search, change }: FiltersProps) {
  const { data: teams = [] } = useQuery(teamsQuery);
  return (
    <Group mb="md" gap="sm" wrap="wrap">
      <SearchInput
        label="Search keys"
        placeholder="Name, owner, label or ID"
        value={search.search}
        onSearch={(text) => change({ search: text })}
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
        aria-label="Status"
        placeholder="All statuses"
        data={[...KEY_STATES]}
        clearable
        value={search.state ?? null}
        onChange={(state) => change({ state: KEY_STATES.find((one) => one === state) })}
      />
      <Select
        hiddenFrom="sm"
        flex="1 1 160px"
        aria-label="Sort by"
        data={SORT_CHOICES}
        allowDeselect={false}
        value={`${search.sort ?? 'created'} ${search.isAscending ?? false}`}
        onChange={(chosen) => {
          const [sort, isAscending] = chosen?.split(' ') ?? [];
          change({
            sort: KEY_SORTS.find((one) => one === sort),
            isAscending: isAscending === 'true' || undefined,
          });
        }}
      />
    </Group>
  );
}
