import { Button, Stack, Text } from '@mantine/core';
import { IconPlus, IconUsersGroup } from '@tabler/icons-react';
import { useQueries, useQuery } from '@tanstack/react-query';
import * as z from 'zod/mini';
import { useMay } from '../../api/permissions.ts';
import type { Balance, Team } from '../../api/types.ts';
import { Moment } from '../../parts/moment.tsx';
import { ListPage } from '../../parts/page/list-page.tsx';
import { PageLink } from '../../parts/page/page-link.tsx';
import { usePageSearch } from '../../parts/page/page-search.ts';
import { SideDrawer } from '../../parts/side-drawer.tsx';
import { csvWith } from '../../parts/table/csv.ts';
import type { Column } from '../../parts/table/virtual-table.tsx';
import { BudgetMeter } from '../budget-meter.tsx';
import { limitsOf } from '../limits.ts';
import { lifeHref } from '../traffic/value-link.tsx';
import { NewTeam } from './new-team.tsx';
import { TeamPanel } from './team-panel.tsx';
import { teamBalanceQuery, teamsQuery } from './teams-query.ts';

const Search = z.object({
  /** The team that is open. */
  team: z.catch(z.optional(z.string()), undefined),
  /** Whether the form for a new one is open. */
  new: z.catch(z.optional(z.boolean()), undefined),
});

/** Every team, with what it has spent. */
export default function TeamsPage() {
  const { search, open, close } = usePageSearch(Search);
  const mayMake = useMay()('POST /admin/v1/teams');
  const list = useQuery(teamsQuery);
  const teams = list.data ?? [];
  const withBudget = teams.filter(({ budget }) => budget !== null);
  const balances = useQueries({
    queries: withBudget.map(({ name }) => teamBalanceQuery(name)),
    combine: (results) => new Map(results.map(({ data }, at) => [withBudget[at]?.name, data])),
  });
  const opened = teams.find(({ name }) => name === search.team);

  return (
    <ListPage
      title="Teams"
      about="Limits and budgets that keys share, in addition to their own."
      action={
        mayMake && (
          <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => open({ new: true })}>
            New team
          </Button>
        )
      }
      list={list}
      empty={{
        icon: IconUsersGroup,
        title: 'No teams yet',
        children: 'Create one to give several keys a shared budget, then assign keys to it.',
      }}
      columns={columnsWith(balances)}
      rows={teams}
      idOf={({ name }) => name}
      onOpen={({ name }) => open({ team: name })}
      csv={{
        file: 'teams.csv',
        textOf: csvWith<Team>({
          Team: ({ name }) => name,
          'Budget in USD': ({ budget }) => budget?.usd ?? null,
          'Budget period': ({ budget }) => budget?.period ?? null,
          'Spent in USD': ({ name }) => balances.get(name)?.budget?.spentUsd ?? null,
          Limits: limitsOf,
          Created: ({ createdAt }) => createdAt,
        }),
      }}
    >
      {search.new && mayMake && <NewTeam onClose={() => close('new')} />}
      {opened && (
        <SideDrawer onClose={() => close('team')} title={<Text fw={600}>{opened.name}</Text>}>
          <Stack>
            <PageLink to={lifeHref('team', opened.name)}>Usage, errors and changes of this team</PageLink>
            <TeamPanel of={opened} onDeleted={() => close('team')} />
          </Stack>
        </SideDrawer>
      )}
    </ListPage>
  );
}

const columnsWith = (
  balances: ReadonlyMap<string | undefined, Balance | undefined>,
): readonly Column<Team>[] => [
  {
    id: 'name',
    header: 'Name',
    width: 'minmax(0, 1fr)',
    onNarrow: true,
    cell: ({ name }) => (
      <Text size="sm" fw={500} truncate>
        {name}
      </Text>
    ),
  },
  {
    id: 'budget',
    header: 'Budget',
    width: 'minmax(150px, 1.4fr)',
    onNarrow: true,
    cell: ({ name, budget }) => (
      <BudgetMeter of={budget} balance={balances.get(name)?.budget ?? null} says="spent" />
    ),
  },
  {
    id: 'limits',
    header: 'Limits',
    width: 'minmax(0, 1.6fr)',
    cell: (team) => (
      <Text size="sm" truncate>
        {limitsOf(team)}
      </Text>
    ),
  },
  { id: 'created', header: 'Created', width: '108px', cell: ({ createdAt }) => <Moment at={createdAt} /> },
];
