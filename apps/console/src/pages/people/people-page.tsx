import { Button, Group, Select } from '@mantine/core';
import { IconPlus, IconUsers } from '@tabler/icons-react';
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import * as z from 'zod/mini';
import { api, bodyOf } from '../../api/client.ts';
import { useMay } from '../../api/permissions.ts';
import type { Person } from '../../api/types.ts';
import { DetailsDrawer } from '../../parts/details-drawer.tsx';
import { Moment } from '../../parts/moment.tsx';
import { ListPage } from '../../parts/page/list-page.tsx';
import { usePageSearch } from '../../parts/page/page-search.ts';
import { SearchInput } from '../../parts/search-input.tsx';
import { SideDrawer } from '../../parts/side-drawer.tsx';
import { Line, TwoLines } from '../../parts/table/cell-text.tsx';
import { csvWith } from '../../parts/table/csv.ts';
import type { Column } from '../../parts/table/virtual-table.tsx';
import { teamsQuery } from '../teams/teams-query.ts';
import { GroupRules } from './group-rules.tsx';
import { LinkDialog, type ShownLink } from './link-dialog.tsx';
import { PERSON_STATES, peopleQuery, personQuery } from './people-query.ts';
import { PersonForm, type PersonValues } from './person-form.tsx';
import { PersonPanel } from './person-panel.tsx';
import { PersonStateBadge } from './person-state.tsx';

const Search = z.object({
  search: z.catch(z.optional(z.string()), undefined),
  team: z.catch(z.optional(z.string()), undefined),
  state: z.catch(z.optional(z.enum(PERSON_STATES)), undefined),
  /** The person that is open. */
  person: z.catch(z.optional(z.string()), undefined),
  /** Whether the form for a new one is open. */
  new: z.catch(z.optional(z.boolean()), undefined),
  /** Whether the rules of groups are open. */
  groups: z.catch(z.optional(z.boolean()), undefined),
});

/** The people who sign in with a password: invited, changed, signed out and disabled. */
export default function PeoplePage() {
  const { search, change, open, close } = usePageSearch(Search);
  const may = useMay();
  const [link, setLink] = useState<ShownLink>();
  const { data: teams = [] } = useQuery(teamsQuery);
  const people = useInfiniteQuery(peopleQuery(search));
  const rows = (people.data?.pages ?? []).flatMap(({ data }) => data);
  const isFiltered = [search.search, search.team, search.state].some(Boolean);
  return (
    <ListPage
      title="People"
      about="Who signs in to this console with an e-mail address and a password."
      action={
        <Group gap="xs">
          {may('GET /admin/v1/group-rules') && (
            <Button variant="default" onClick={() => open({ groups: true })}>
              Groups
            </Button>
          )}
          <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => open({ new: true })}>
            Invite person
          </Button>
        </Group>
      }
      filters={
        <Group mb="md" gap="sm" wrap="wrap">
          <SearchInput
            label="Search people"
            placeholder="Name or e-mail address"
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
            data={[...PERSON_STATES]}
            clearable
            value={search.state ?? null}
            onChange={(state) => change({ state: PERSON_STATES.find((one) => one === state) })}
          />
        </Group>
      }
      list={people}
      empty={{
        icon: IconUsers,
        title: isFiltered ? 'No matching people' : 'No people yet',
        children: isFiltered
          ? 'Search for part of a name or e-mail address, or remove a filter.'
          : 'Invite the first one: the person gets a link and sets a password. People of your identity provider need no invitation.',
      }}
      columns={COLUMNS}
      rows={rows}
      idOf={({ id }) => id}
      onOpen={({ id }) => open({ person: id })}
      csv={CSV}
    >
      {search.new && (
        <NewPerson
          onMade={(shown) => {
            close('new');
            setLink(shown);
          }}
          onClose={() => close('new')}
        />
      )}
      {search.person !== undefined && (
        <PersonDetails id={search.person} onLink={setLink} onClose={() => close('person')} />
      )}
      {search.groups && may('GET /admin/v1/group-rules') && (
        <SideDrawer onClose={() => close('groups')} title="Groups of the identity provider">
          <GroupRules />
        </SideDrawer>
      )}
      {link && <LinkDialog shown={link} onClose={() => setLink(undefined)} />}
    </ListPage>
  );
}

const CSV = {
  file: 'people.csv',
  textOf: csvWith<Person>({
    Name: ({ name }) => name,
    'E-mail address': ({ email }) => email,
    Role: ({ role }) => role,
    Teams: ({ teams }) => teams.join(' '),
    Status: ({ state }) => state,
    'Last sign-in': ({ lastSignInAt }) => lastSignInAt,
    Created: ({ createdAt }) => createdAt,
  }),
};

const COLUMNS: readonly Column<Person>[] = [
  {
    id: 'name',
    header: 'Name',
    width: 'minmax(0, 1.6fr)',
    onNarrow: true,
    cell: ({ name, email }) => <TwoLines first={name} second={email} />,
  },
  {
    id: 'role',
    header: 'Role',
    width: '108px',
    cell: ({ role }) => <Line>{role}</Line>,
  },
  {
    id: 'teams',
    header: 'Teams',
    width: 'minmax(0, 1fr)',
    cell: ({ teams }) => <Line>{teams.length === 0 ? '–' : teams.join(', ')}</Line>,
  },
  {
    id: 'state',
    header: 'Status',
    width: '96px',
    onNarrow: true,
    cell: (person) => <PersonStateBadge of={person} />,
  },
  {
    id: 'in',
    header: 'Last sign-in',
    width: '110px',
    cell: ({ lastSignInAt }) => (lastSignInAt === null ? <Line>–</Line> : <Moment at={lastSignInAt} />),
  },
  { id: 'created', header: 'Created', width: '110px', cell: ({ createdAt }) => <Moment at={createdAt} /> },
];

interface PersonDetailsProps {
  readonly id: string;
  readonly onLink: (shown: ShownLink) => void;
  readonly onClose: () => void;
}

function PersonDetails({ id, onLink, onClose }: PersonDetailsProps) {
  const { data: person, error, refetch } = useQuery(personQuery(id));
  return (
    <DetailsDrawer
      of={person}
      kind="Person"
      titleOf={({ name }) => name}
      badge={(one) => <PersonStateBadge of={one} />}
      error={error}
      onRetry={() => void refetch()}
      onClose={onClose}
    >
      {(one) => <PersonPanel of={one} onLink={onLink} onDeleted={onClose} />}
    </DetailsDrawer>
  );
}

/** The form that invites a person. */
function NewPerson({ onMade, onClose }: { onMade: (shown: ShownLink) => void; onClose: () => void }) {
  const queries = useQueryClient();
  const invite = useMutation({
    mutationFn: (values: PersonValues) =>
      bodyOf(
        api.POST('/admin/v1/people', {
          body: { ...values, email: values.email.trim(), name: values.name.trim() },
        }),
      ),
    onSuccess: async ({ link, delivery, ...of }) => {
      onMade({ of, link, delivery });
      await queries.invalidateQueries({ queryKey: ['people'] });
    },
  });
  return (
    <SideDrawer onClose={onClose} title="Invite a person">
      <PersonForm
        action="Create invitation"
        isPending={invite.isPending}
        error={invite.error}
        onSubmit={invite.mutate}
        onCancel={onClose}
      />
    </SideDrawer>
  );
}
