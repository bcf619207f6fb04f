import { Alert, Button, Center, Loader, Paper, Stack, Text, TextInput, Title } from '@mantine/core';
import { useForm } from '@mantine/form';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiError, api, bodyOf } from '../api/client.ts';
import { sessionQuery } from '../api/queries.ts';
import { Logo } from './logo.tsx';
import { NewPasswordInput } from './new-password-input.tsx';

/** Where a link leads to: the person chooses a password, and is signed in. */
export default function SetPasswordPage() {
  // The part of the address that browsers keep to themselves.
  const [token] = useState(() => globalThis.location.hash.slice(1));
  const link = useQuery({
    queryKey: ['password-link', token],
    queryFn: () => bodyOf(api.POST('/admin/v1/password-link', { body: { token } })),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <Center mih="100dvh" p="md" component="main">
      <Paper withBorder p="xl" w="100%" maw={420} shadow="sm">
        <Stack>
          <Logo />
          <Title order={1} size="h3">
            {link.data?.isInvitation === false ? 'Set a new password' : 'Welcome'}
          </Title>
          {link.isPending && <Loader role="status" aria-label="Loading" />}
          {link.error && (
            <Alert color="red" variant="light" icon={<IconAlertTriangle aria-hidden />} role="alert">
              {link.error.message}
            </Alert>
          )}
          {link.data && <PasswordOf token={token} email={link.data.email} name={link.data.name} />}
        </Stack>
      </Paper>
    </Center>
  );
}

interface PasswordOfProps {
  readonly token: string;
  readonly email: string;
  readonly name: string;
}

function PasswordOf({ token, email, name }: PasswordOfProps) {
  const queries = useQueryClient();
  const router = useRouter();
  const form = useForm({ initialValues: { password: '' } });
  const set = useMutation({
    mutationFn: ({ password }: { password: string }) =>
      bodyOf(api.POST('/admin/v1/password', { body: { token, password } })),
    onSuccess: async (session) => {
      queries.clear();
      queries.setQueryData(sessionQuery.queryKey, session);
      await router.navigate({ to: '/', replace: true });
    },
  });
  const refusal = set.error instanceof ApiError && set.error.path === 'password' ? set.error : null;
  return (
    <form onSubmit={form.onSubmit((values) => set.mutate(values))}>
      <Stack>
        <Text size="sm">
          Hello {name}, choose the password with which you sign in to the gateway's console.
        </Text>
        {/* Password managers store the password under it. */}
        <TextInput label="E-mail address" type="email" autoComplete="username" value={email} readOnly />
        <NewPasswordInput
          label="Password"
          autoFocus
          {...form.getInputProps('password')}
          {...(refusal && { error: refusal.message })}
        />
        {set.error && refusal === null && (
          <Alert color="red" variant="light" role="alert">
            {set.error.message}
          </Alert>
        )}
        <Button type="submit" loading={set.isPending} fullWidth>
          Set password and sign in
        </Button>
      </Stack>
    </form>
  );
}
