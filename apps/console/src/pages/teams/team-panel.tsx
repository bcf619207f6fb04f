import { Button, Group, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, bodyOf } from '../../api/client.ts';
import { useMay } from '../../api/permissions.ts';
import type { Team } from '../../api/types.ts';
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx';
import { Moment } from '../../parts/moment.tsx';
import { PageLink } from '../../parts/page/page-link.tsx';
import { BalanceMeters } from '../balance-meters.tsx';
import { Facts } from '../facts.tsx';
import { limitsOf } from '../limits.ts';
import { TeamForm, type TeamValues, teamPatchOf } from './team-form.tsx';
import { teamBalanceQuery, teamQuery, teamsQuery } from './teams-query.ts';

interface TeamPanelProps {
  readonly of: Team;
  readonly onDeleted: () => void;
}

/** What is left of a team's limits and budget, its form, and its end. */
export function TeamPanel({ of: team, onDeleted }: TeamPanelProps) {
  const [act, setAct] = useState<'edit' | 'delete'>();
  const balance = useQuery(teamBalanceQuery(team.name));
  const may = useMay();
  const done = () => setAct(undefined);
  return (
    <>
      {act === 'edit' ? (
        <EditTeam of={team} onDone={done} />
      ) : (
        <Stack>
          <Group gap="xs">
            {may('PATCH /admin/v1/teams/{name}') && (
              <Button size="xs" variant="default" onClick={() => setAct('edit')}>
                Edit
              </Button>
            )}
            {may('DELETE /admin/v1/teams/{name}') && (
              <Button size="xs" variant="light" color="red" onClick={() => setAct('delete')}>
                Delete
              </Button>
            )}
          </Group>
          <BalanceMeters of={team} balance={balance.data} />
          <Facts
            of={[
              ['Limits', limitsOf(team)],
              ['Created', <Moment key="created" at={team.createdAt} />],
            ]}
          />
          <PageLink to="/keys" search={{ team: team.name, sort: 'spend' }}>
            View keys
          </PageLink>
        </Stack>
      )}
      {act === 'delete' && <DeleteTeam of={team} onClose={done} onDeleted={onDeleted} />}
    </>
  );
}

function EditTeam({ of: team, onDone }: { of: Team; onDone: () => void }) {
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: (values: TeamValues) =>
      bodyOf(
        api.PATCH('/admin/v1/teams/{name}', {
          params: { path: { name: team.name } },
          body: teamPatchOf(values),
        }),
      ),
    onSuccess: async () => {
      for (const { queryKey } of [teamsQuery, teamQuery(team.name), teamBalanceQuery(team.name)])
        await queries.invalidateQueries({ queryKey });
      onDone();
    },
  });
  return (
    <TeamForm
      of={team}
      action="Save"
      isPending={change.isPending}
      error={change.error}
      onSubmit={change.mutate}
      onCancel={onDone}
    />
  );
}

interface DeleteTeamProps {
  readonly of: Team;
  readonly onClose: () => void;
  readonly onDeleted: () => void;
}

function DeleteTeam({ of: team, onClose, onDeleted }: DeleteTeamProps) {
  const queries = useQueryClient();
  const remove = useMutation({
    mutationFn: () => api.DELETE('/admin/v1/teams/{name}', { params: { path: { name: team.name } } }),
    onSuccess: async () => {
      onDeleted();
      await queries.invalidateQueries({ queryKey: teamsQuery.queryKey });
    },
  });
  return (
    <ConfirmDialog
      title={`Delete ${team.name}?`}
      action="Delete"
      isDangerous
      isPending={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate()}
      onClose={onClose}
    >
      <Text size="sm">
        A team can be deleted only when no active key belongs to it: its limits would no longer apply to them.
        Its usage stays on record.
      </Text>
    </ConfirmDialog>
  );
}
