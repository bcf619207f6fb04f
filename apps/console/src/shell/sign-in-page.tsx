import { Alert, Button, Center, Divider, Paper, SegmentedControl, Stack, Title } from '@mantine/core';
import { IconAlertTriangle, IconLogin2 } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useRouter, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import * as z from 'zod/mini';
import { BASE_PATH } from '../api/base-path.ts';
import { api, bodyOf } from '../api/client.ts';
import { sessionQuery, signInQuery } from '../api/queries.ts';
import { Logo } from './logo.tsx';
import { KeyForm, type SignInBody, TokenForm } from './sign-in-forms.tsx';

const PROBLEMS = {
  expired:
    "This sign-in was started in another browser, or too long ago. Start again at the console's own address.",
  refused: 'The identity provider did not confirm the sign-in. Try again.',
  'no-role': 'The identity provider knows you, but you have no role here. Ask a gateway admin for one.',
  'too-many-groups':
    'The identity provider did not send your groups because you are in too many. Ask its admin to send only the groups of this application, or application roles.',
  limited: 'Too many failed attempts. Try again in a few minutes.',
  unreachable:
    'The identity provider is not responding. Try again in a minute, or sign in with a token or a key.',
  'wrong-issuer':
    "The identity provider's issuer differs from OIDC_ISSUER. An admin can find the correct value in the admin service's log.",
  failed: 'Sign-in failed. Try again in a minute.',
} as const;

const problemText = (problem: string | undefined): string | undefined =>
  Object.entries(PROBLEMS).find(([name]) => name === problem)?.[1];

export const SignInSearch = z.object({
  /** The page to return to, within the console. */
  to: z.optional(z.string()),
  /** Why the identity provider's sign-in did not work. */
  problem: z.optional(z.string()),
});

const WAYS = [
  { value: 'token', label: 'Token' },
  { value: 'key', label: 'Key' },
];

/** The ways to sign in: the identity provider, if one is set, the admin token, and a key. */
export function SignInPage() {
  const { to, problem } = useSearch({ from: '/sign-in' });
  const router = useRouter();
  const queries = useQueryClient();
  const [way, setWay] = useState('token');
  const { data: ways } = useQuery(signInQuery);
  const target = to?.startsWith('/') && !to.startsWith('//') ? to : '/';
  const signIn = useMutation({
    mutationFn: (body: SignInBody) => bodyOf(api.POST('/admin/v1/session', { body })),
    onSuccess: (session) => {
      queries.clear();
      queries.setQueryData(sessionQuery.queryKey, session);
      router.history.push(target);
    },
  });
  const message = signIn.error?.message ?? problemText(problem);
  const form = { isPending: signIn.isPending, onSubmit: signIn.mutate };

  return (
    <Center mih="100dvh" p="md" component="main">
      <Paper withBorder p="xl" w="100%" maw={420} shadow="sm">
        <Stack>
          <Logo />
          <Title order={1} size="h3">
            Sign in
          </Title>
          {message !== undefined && (
            <Alert color="red" variant="light" icon={<IconAlertTriangle aria-hidden />} role="alert">
              {message}
            </Alert>
          )}
          {ways?.oidc && (
            <>
              <Button
                component="a"
                href={`${BASE_PATH}/admin/v1/session/oidc?to=${encodeURIComponent(target)}`}
                leftSection={<IconLogin2 size={18} aria-hidden />}
                fullWidth
                h="auto"
                mih={36}
                py={6}
                styles={{ label: { whiteSpace: 'normal' } }}
              >
                Sign in with {ways.oidc.name}
              </Button>
              <Divider label="or" />
            </>
          )}
          <SegmentedControl aria-label="Sign in with" data={WAYS} value={way} onChange={setWay} />
          {way === 'token' ? <TokenForm {...form} /> : <KeyForm {...form} />}
        </Stack>
      </Paper>
    </Center>
  );
}
