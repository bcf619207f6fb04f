import { Alert, Button, Code, Group, Stack, Text, TextInput, Title } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { ApiError, api, bodyOf } from '../../api/client.ts';
import { PageFailed } from '../../parts/page/page-failed.tsx';
import { Facts } from '../facts.tsx';
import { groupRulesQuery } from './people-query.ts';
import { isTeamRole, RoleFields, type RoleValues } from './role-fields.tsx';

/** What groups of the identity provider stand for, and what a person of some groups would be. */
export function GroupRules() {
  const { data: rules, error, refetch } = useQuery(groupRulesQuery);
  const queries = useQueryClient();
  const changed = () => queries.invalidateQueries({ queryKey: groupRulesQuery.queryKey });
  const remove = useMutation({
    mutationFn: (group: string) =>
      api.DELETE('/admin/v1/group-rules/{group}', { params: { path: { group } } }),
    onSuccess: changed,
  });
  if (error) return <PageFailed error={error} reset={() => void refetch()} />;
  if (rules === undefined) return null;
  const { environment } = rules;
  return (
    <Stack>
      <Text size="sm">
        {environment === null ? (
          <>
            No identity provider is configured. Set <Code>OIDC_ISSUER</Code> for people to sign in with it.
          </>
        ) : (
          <>
            A rule counts at the next sign-in. Rules of the environment and those set here count alike: the
            highest role of all of a person's groups applies.
          </>
        )}
      </Text>
      {environment !== null && (
        <Facts
          of={[
            ['Claim', environment.roleClaim],
            ['Admins (environment)', environment.adminValues.join(', ') || 'none'],
            ['Viewers (environment)', environment.viewerValues.join(', ') || 'none'],
            [
              'Team leads (environment)',
              environment.teamClaim === null ? 'none' : `${environment.teamPrefix ?? ''}TEAM`,
            ],
          ]}
        />
      )}
      <Title order={2} size="h5">
        Rules set here
      </Title>
      {rules.data.length === 0 && (
        <Text size="sm" c="dimmed">
          None yet.
        </Text>
      )}
      {rules.data.map(({ group, role, teams }) => (
        <Group key={group} justify="space-between" wrap="nowrap">
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            <b>{group}</b>: {role}
            {teams.length > 0 && ` of ${teams.join(', ')}`}
          </Text>
          <Button
            size="compact-xs"
            variant="default"
            aria-label={`Remove the rule of ${group}`}
            loading={remove.isPending && remove.variables === group}
            onClick={() => remove.mutate(group)}
          >
            Remove
          </Button>
        </Group>
      ))}
      {remove.error && (
        <Alert color="red" variant="light" role="alert">
          {remove.error.message}
        </Alert>
      )}
      <NewRule onSaved={changed} />
      {environment !== null && <Preview />}
    </Stack>
  );
}

const EMPTY: RoleValues & { readonly group: string } = { group: '', role: 'team-member', teams: [] };

function NewRule({ onSaved }: { onSaved: () => Promise<void> }) {
  const form = useForm({
    initialValues: EMPTY,
    validate: {
      group: (value) => (value.trim() === '' ? 'Enter the group as the provider sends it.' : null),
      teams: (value, { role }) =>
        isTeamRole(role) && value.length === 0 ? 'Choose at least one team.' : null,
    },
  });
  const save = useMutation({
    mutationFn: ({ group, role, teams }: typeof EMPTY) =>
      bodyOf(api.POST('/admin/v1/group-rules', { body: { group: group.trim(), role, teams: [...teams] } })),
    onSuccess: async () => {
      form.reset();
      await onSaved();
    },
  });
  const { role, teams } = form.getValues();
  const teamsError = form.errors.teams;
  return (
    <form onSubmit={form.onSubmit((values) => save.mutate(values))} noValidate>
      <Stack gap="sm">
        <TextInput
          label="Group"
          description="As the provider sends it: a name or an ID."
          maxLength={300}
          {...form.getInputProps('group')}
        />
        <RoleFields
          role={role}
          teams={teams}
          onChange={(values) => {
            form.clearFieldError('teams');
            form.setValues(values);
          }}
          errors={{ teams: typeof teamsError === 'string' ? teamsError : undefined }}
        />
        {save.error && (
          <Alert color="red" variant="light" role="alert">
            {save.error.message}
          </Alert>
        )}
        <Group justify="flex-end">
          <Button type="submit" variant="default" loading={save.isPending}>
            Save rule
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** Says what a person of some groups would be. */
function Preview() {
  const form = useForm({ initialValues: { groups: '' } });
  const preview = useMutation({
    mutationFn: (groups: string[]) => bodyOf(api.POST('/admin/v1/group-rules/preview', { body: { groups } })),
  });
  const submit = form.onSubmit(({ groups }) =>
    preview.mutate(
      groups
        .split(',')
        .map((one) => one.trim())
        .filter(Boolean),
    ),
  );
  const { data: result } = preview;
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <Title order={2} size="h5">
          What would a person be?
        </Title>
        <TextInput
          label="Groups of the person"
          description="Separated by commas."
          {...form.getInputProps('groups')}
        />
        <Group justify="flex-end">
          <Button type="submit" variant="default" loading={preview.isPending}>
            Preview
          </Button>
        </Group>
        {preview.error instanceof ApiError && (
          <Alert color="red" variant="light" role="alert">
            {preview.error.message}
          </Alert>
        )}
        {result && (
          <Alert color={result.role === null ? 'orange' : 'teal'} variant="light" role="status">
            <Text size="sm" c="var(--mantine-color-text)">
              {result.role === null
                ? 'No role: this person cannot sign in.'
                : `${result.role}${result.teams.length > 0 ? ` of ${result.teams.join(', ')}` : ''}, by ${result.because.join(', ')}.`}
            </Text>
          </Alert>
        )}
      </Stack>
    </form>
  );
}
