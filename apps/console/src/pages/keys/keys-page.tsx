import { Button, Group, Select } from '@mantine/core';
import { IconKey, IconPlus } from '@tabler/icons-react';
import { useInfiniteQuery, useMutation, useQueries, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useMemo, useState } from 'react';
import * as z from 'zod/mini';
import { api, bodyOf } from '../../api/client.ts';
import { useMay } from '../../api/permissions.ts';
import type { Key, NewKeyBody } from '../../api/types.ts';
import { Moment } from '../../parts/moment.tsx';
import { ListPage } from '../../parts/page/list-page.tsx';
import { usePageSearch } from '../../parts/page/page-search.ts';
import { SearchInput } from '../../parts/search-input.tsx';
import { SideDrawer } from '../../parts/side-drawer.tsx';
import { Line, NameAndId } from '../../parts/table/cell-text.tsx';
import type { Column } from '../../parts/table/virtual-table.tsx';
import { withoutNulls } from '../amounts.ts';
import { BudgetMeter } from '../budget-meter.tsx';
import { teamsQuery } from '../teams/teams-query.ts';
import { KeyDetails } from './key-details.tsx';
import { KeyForm } from './key-form.tsx';
import { KEY_STATES, KeyStateBadge } from './key-state.tsx';
import { type KeyValues, patchOf } from './key-values.ts';
import { type BudgetBalance, budgetsQuery, keysQuery } from './keys-query.ts';
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
  const { search, change, open, close } = usePageSearch(Search);
  const mayMake = useMay()('POST /admin/v1/keys');
  const [secret, setSecret] = useState<ShownSecret>();
  const keys = useInfiniteQuery(keysQuery(search));
  const pages = keys.data?.pages ?? NO_PAGES;
  const rows = useMemo(() => pages.flatMap(({ data }) => data), [pages]);
  const budgets = useQueries({
    queries: useMemo(() => pages.map(({ data }) => budgetsQuery(data)), [pages]),
    combine: together,
  });
  const openKey = useCallback(({ id }: Key) => open({ key: id }), [open]);
  const columns = useMemo(() => columnsWith(budgets), [budgets]);
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
    >
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
    </ListPage>
  );
}

const NO_PAGES: { data: Key[] }[] = [];

type Budgets = Readonly<Record<string, BudgetBalance | null>>;

const together = (results: readonly { readonly data: Budgets | undefined }[]): Budgets =>
  Object.assign({}, ...results.map(({ data }) => data ?? {}));

const columnsWith = (budgets: Budgets): readonly Column<Key>[] => [
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
    cell: ({ team }) => <Line>{team ?? '–'}</Line>,
  },
  {
    id: 'models',
    header: 'Models',
    width: 'minmax(0, 1.2fr)',
    cell: ({ models }) => <Line>{models?.join(', ') ?? 'all'}</Line>,
  },
  {
    id: 'budget',
    header: 'Budget',
    width: 'minmax(150px, 1.4fr)',
    cell: ({ id, budget }) => <BudgetMeter of={budget} balance={budgets[id] ?? null} says="spent" />,
  },
  { id: 'created', header: 'Created', width: '108px', cell: ({ createdAt }) => <Moment at={createdAt} /> },
];

interface FiltersProps {
  readonly search: z.output<typeof Search>;
  readonly change: (change: {
    search?: string | undefined;
    team?: string | undefined;
    state?: z.output<typeof Search>['state'];
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
    </Group>
  );
}

/** The form that makes a key. */
function NewKey({ onMade, onClose }: { onMade: (shown: ShownSecret) => void; onClose: () => void }) {
  const queries = useQueryClient();
  const make = useMutation({
    mutationFn: (values: KeyValues) =>
      bodyOf(api.POST('/admin/v1/keys', { body: withoutNulls<NewKeyBody>(patchOf(values)) })),
    onSuccess: async ({ key: secret, warnings, ...of }) => {
      onMade({ of, secret, warnings });
      await queries.resetQueries({ queryKey: ['keys'] });
    },
  });
  return (
    <SideDrawer onClose={onClose} title="New key">
      <KeyForm
        action="Create key"
        isPending={make.isPending}
        error={make.error}
        onSubmit={make.mutate}
        onCancel={onClose}
      />
    </SideDrawer>
  );
}
