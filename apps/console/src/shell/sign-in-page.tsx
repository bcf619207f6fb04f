import {
  Alert,
  Button,
  Center,
  Code,
  Paper,
  PasswordInput,
  Stack,
  Text,
  TextInput,
  Title,
} from '@mantine/core';
import { useForm } from '@mantine/form';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useRouter, useSearch } from '@tanstack/react-router';
import * as z from 'zod/mini';
import { api, bodyOf } from '../api/client.ts';
import { sessionQuery } from '../api/queries.ts';
import { Logo } from './logo.tsx';

/** `to`: the page to return to, within the console. */
export const SignInSearch = z.object({ to: z.optional(z.string()) });

interface SignIn {
  readonly token: string;
  readonly name: string;
}

export function SignInPage() {
  const { to } = useSearch({ from: '/sign-in' });
  const router = useRouter();
  const queries = useQueryClient();
  const form = useForm<SignIn>({
    mode: 'uncontrolled',
    initialValues: { token: '', name: '' },
    validate: {
      token: (value) => (value.trim() === '' ? 'Paste the admin token.' : null),
    },
  });
  const signIn = useMutation({
    mutationFn: ({ token, name }: SignIn) =>
      bodyOf(
        api.POST('/admin/v1/session', {
          body: { token: token.trim(), ...(name.trim() !== '' && { name: name.trim() }) },
        }),
      ),
    onSuccess: (session) => {
      queries.clear();
      queries.setQueryData(sessionQuery.queryKey, session);
      router.history.push(to?.startsWith('/') && !to.startsWith('//') ? to : '/');
    },
  });

  return (
    <Center mih="100dvh" p="md" component="main">
      <Paper withBorder p="xl" w="100%" maw={420} shadow="sm">
        <form onSubmit={form.onSubmit((values) => signIn.mutate(values))}>
          <Stack>
            <Logo />
            <div>
              <Title order={1} size="h3">
                Sign in
              </Title>
              <Text size="sm" c="dimmed" mt={4}>
                With the admin token: <Code>GATEWAY_ADMIN_TOKEN</Code>, which <Code>npm start</Code> makes and
                keeps in <Code>.data/secrets/admin-token</Code>.
              </Text>
            </div>
            {signIn.error && (
              <Alert color="red" variant="light" icon={<IconAlertTriangle aria-hidden />} role="alert">
                {signIn.error.message}
              </Alert>
            )}
            <PasswordInput
              label="Admin token"
              autoComplete="current-password"
              data-autofocus
              autoFocus
              key={form.key('token')}
              {...form.getInputProps('token')}
            />
            <TextInput
              label="Your name"
              description="Stands beside your changes in the audit log."
              placeholder="admin"
              autoComplete="username"
              maxLength={100}
              key={form.key('name')}
              {...form.getInputProps('name')}
            />
            <Button type="submit" loading={signIn.isPending} fullWidth>
              Sign in
            </Button>
          </Stack>
        </form>
      </Paper>
    </Center>
  );
}
