import { Anchor, Button, Group, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api, bodyOf } from '../../api/client.ts';
import { useMay } from '../../api/permissions.ts';
import type { NewTeamBody, Team } from '../../api/types.ts';
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx';
import { SideDrawer } from '../../parts/side-drawer.tsx';
import { withoutNulls } from '../amounts.ts';
import { BalanceMeters } from '../balance-meters.tsx';
import { TeamForm, type TeamValues, teamPatchOf } from './team-form.tsx';
import { teamBalanceQuery, teamsQuery } from './teams-query.ts';

/** The form that makes a team. */
export function NewTeam({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient();
  const make = useMutation({
    mutationFn: (values: TeamValues) =>
      bodyOf(
        api.POST('/admin/v1/teams', {
          body: withoutNulls<NewTeamBody>({ name: values.name.trim(), ...teamPatchOf(values) }),
        }),
      ),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: teamsQuery.queryKey });
      onClose();
    },
  });
  return (
    <SideDrawer onClose={onClose} title={<Text fw={600}>New team</Text>}>
      <TeamForm
        action="Create team"
        isPending={make.isPending}
        error={make.error}
        onSubmit={make.mutate}
        onCancel={onClose}
      />
    </SideDrawer>
  );
}

/** One team: what is left of its limits and budget, its form, and its end. */
export function TeamDetails({ of: team, onClose }: { of: Team; onClose: () => void }) {
  const [act, setAct] = useState<'edit' | 'delete'>();
  const balance = useQuery(teamBalanceQuery(team.name));
  const may = useMay();
  const done = () => setAct(undefined);
  return (
    <SideDrawer onClose={onClose} title={<Text fw={600}>{team.name}</Text>}>
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
          <Anchor component={Link} to={`/keys?team=${encodeURIComponent(team.name)}`} size="sm">
            View keys
          </Anchor>
        </Stack>
      )}
      {act === 'delete' && <DeleteTeam of={team} onClose={done} onDeleted={onClose} />}
    </SideDrawer>
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
      await queries.invalidateQueries({ queryKey: teamsQuery.queryKey });
      await queries.invalidateQueries({ queryKey: teamBalanceQuery(team.name).queryKey });
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
