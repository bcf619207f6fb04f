import { Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { api, bodyOf } from '../../api/client.ts';
import type { NewTeamBody } from '../../api/types.ts';
import { SideDrawer } from '../../parts/side-drawer.tsx';
import { withoutNulls } from '../amounts.ts';
import { TeamForm, type TeamValues, teamPatchOf } from './team-form.tsx';
import { teamsQuery } from './teams-query.ts';

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
