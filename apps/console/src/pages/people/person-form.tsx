import { Checkbox, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { ApiError } from '../../api/client.ts';
import type { NewPersonBody, Person } from '../../api/types.ts';
import { FormEnd } from '../../parts/form-end.tsx';
import { SEND_EMAIL } from './link-dialog.tsx';
import { isTeamRole, RoleFields } from './role-fields.tsx';

export type PersonValues = Required<NewPersonBody>;

interface PersonFormProps {
  /** The person to change; absent: a new one. */
  readonly of?: Person;
  readonly action: string;
  readonly isPending: boolean;
  readonly error: Error | null;
  readonly onSubmit: (values: PersonValues) => void;
  readonly onCancel: () => void;
}

const ROLES = ['admin', 'viewer', 'team-lead', 'team-member'] as const;

export function PersonForm({ of, action, isPending, error, onSubmit, onCancel }: PersonFormProps) {
  const form = useForm<PersonValues>({
    initialValues: {
      email: of?.email ?? '',
      name: of?.name ?? '',
      role: ROLES.find((role) => role === of?.role) ?? 'team-member',
      teams: of?.teams ?? [],
      sendEmail: false,
    },
    validate: {
      email: (value) => (value.includes('@') ? null : 'Enter an e-mail address.'),
      name: (value) => (value.trim() === '' ? 'Enter a name.' : null),
      teams: (value, { role }) =>
        isTeamRole(role) && value.length === 0 ? 'Choose at least one team.' : null,
    },
  });
  const problem = error instanceof ApiError ? error : null;
  const errorOf = (path: string) => (problem?.path === path ? problem.message : undefined);
  const { role, teams } = form.getValues();
  const teamsError = form.errors.teams;
  return (
    <form onSubmit={form.onSubmit(onSubmit)} noValidate>
      <Stack>
        <TextInput
          label="E-mail address"
          description={
            of === undefined ? 'The person signs in with it. It cannot be changed later.' : undefined
          }
          type="email"
          withAsterisk
          maxLength={254}
          autoComplete="off"
          readOnly={of !== undefined}
          data-autofocus={of === undefined ? true : undefined}
          {...form.getInputProps('email')}
          {...(errorOf('email') !== undefined && { error: errorOf('email') })}
        />
        <TextInput
          label="Name"
          withAsterisk
          maxLength={100}
          autoComplete="off"
          {...form.getInputProps('name')}
          {...(errorOf('name') !== undefined && { error: errorOf('name') })}
        />
        <RoleFields
          role={role}
          teams={teams}
          onChange={(values) => {
            form.clearFieldError('teams');
            form.setValues({ role: values.role, teams: [...values.teams] });
          }}
          errors={{
            role: errorOf('role'),
            teams: typeof teamsError === 'string' ? teamsError : errorOf('teams'),
          }}
        />
        {of === undefined && (
          <Checkbox label={SEND_EMAIL} {...form.getInputProps('sendEmail', { type: 'checkbox' })} />
        )}
        <FormEnd action={action} isPending={isPending} error={error} onCancel={onCancel} />
      </Stack>
    </form>
  );
}
