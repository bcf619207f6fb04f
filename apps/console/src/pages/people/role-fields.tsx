import { MultiSelect, Select } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMay } from '../../api/permissions.ts';
import type { NewPersonBody } from '../../api/types.ts';
import { teamsQuery } from '../teams/teams-query.ts';

export type GivenRole = NewPersonBody['role'];

/** What can be given, as it is said. */
const ROLES: readonly { readonly value: GivenRole; readonly label: string }[] = [
  { value: 'team-member', label: 'team-member: looks at its teams' },
  { value: 'team-lead', label: 'team-lead: manages keys and members of its teams' },
  { value: 'viewer', label: 'viewer: looks at everything' },
  { value: 'admin', label: 'admin: everything' },
];

export const isTeamRole = (role: GivenRole): boolean => role === 'team-lead' || role === 'team-member';

export interface RoleValues {
  readonly role: GivenRole;
  readonly teams: readonly string[];
}

interface RoleFieldsProps extends RoleValues {
  readonly onChange: (values: RoleValues) => void;
  /** What is wrong with the role and with the teams. */
  readonly errors: { readonly role?: string | undefined; readonly teams?: string | undefined };
}

/** A role, and the teams that it is about. A team lead gives one role. */
export function RoleFields({ role, teams, onChange, errors }: RoleFieldsProps) {
  const isAdmin = useMay()('POST /admin/v1/teams');
  const { data: known = [] } = useQuery(teamsQuery);
  return (
    <>
      <Select
        label="Role"
        data={isAdmin ? [...ROLES] : ROLES.filter(({ value }) => value === 'team-member')}
        allowDeselect={false}
        value={role}
        error={errors.role}
        onChange={(chosen) => {
          const next = ROLES.find(({ value }) => value === chosen)?.value ?? role;
          onChange({ role: next, teams: isTeamRole(next) ? teams : [] });
        }}
      />
      {isTeamRole(role) && (
        <MultiSelect
          label="Teams"
          data={known.map(({ name }) => name)}
          searchable
          value={[...teams]}
          error={errors.teams}
          onChange={(chosen) => onChange({ role, teams: chosen })}
        />
      )}
    </>
  );
}
