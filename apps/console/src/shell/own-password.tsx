import { Alert, Button, Divider, PasswordInput, Stack, Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { ApiError, api, bodyOf } from '../api/client.ts';
import { sessionQuery } from '../api/queries.ts';
import type { OwnSession } from '../api/types.ts';
import { Dialog } from '../parts/dialog.tsx';
import { FormEnd } from '../parts/form-end.tsx';
import { NewPasswordInput } from './new-password-input.tsx';

/** Changes one's own password, and ends one's other sessions. */
export default function OwnPassword({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient();
  const onSuccess = (session: OwnSession): void => {
    queries.setQueryData(sessionQuery.queryKey, session);
    onClose();
  };
  const form = useForm({
    initialValues: { current: '', password: '' },
    validate: { current: (value) => (value === '' ? 'Enter your current password.' : null) },
  });
  const change = useMutation({
    mutationFn: (body: { current: string; password: string }) =>
      bodyOf(api.POST('/admin/v1/session/password', { body })),
    onSuccess,
  });
  const signOut = useMutation({
    mutationFn: () => bodyOf(api.DELETE('/admin/v1/session/others')),
    onSuccess,
  });
  const problem = change.error instanceof ApiError ? change.error : null;
  return (
    <Dialog onClose={onClose} title="Password and sessions">
      <form onSubmit={form.onSubmit((values) => change.mutate(values))}>
        <Stack>
          <PasswordInput
            label="Current password"
            autoComplete="current-password"
            maxLength={200}
            data-autofocus
            {...form.getInputProps('current')}
            {...(problem?.path === 'current' && { error: problem.message })}
          />
          <NewPasswordInput
            label="New password"
            {...form.getInputProps('password')}
            {...(problem?.path === 'password' && { error: problem.message })}
          />
          <Text size="sm" c="dimmed">
            Your other sessions end.
          </Text>
          <FormEnd
            action="Change password"
            isPending={change.isPending}
            error={problem?.path ? null : change.error}
            onCancel={onClose}
          />
        </Stack>
      </form>
      <Divider my="md" />
      <Stack gap="xs">
        {signOut.error && (
          <Alert color="red" variant="light" role="alert">
            {signOut.error.message}
          </Alert>
        )}
        <Text size="sm">Signed in elsewhere, or on a machine that you no longer have?</Text>
        <Button variant="default" loading={signOut.isPending} onClick={() => signOut.mutate()}>
          Sign out everywhere else
        </Button>
      </Stack>
    </Dialog>
  );
}
