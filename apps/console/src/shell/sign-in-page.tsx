import { Center, Paper, Stack, Title } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useRouter, useSearch } from '@tanstack/react-router';
import { sessionQuery } from '../api/queries.ts';
import type { OwnSession } from '../api/types.ts';
import { Logo } from './logo.tsx';
import { WaysToSignIn } from './ways-to-sign-in.tsx';

const PROBLEMS = {
  expired:
    "This sign-in was started in another browser, or too long ago. Start again at the console's own address.",
  refused: 'The identity provider did not confirm the sign-in. Try again.',
  'no-role': 'The identity provider knows you, but you have no role here. Ask a gateway admin for one.',
  disabled: 'You were disabled here. Ask a gateway admin to enable you again.',
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

/** The ways to sign in, and why the last try did not work. */
export default function SignInPage() {
  const { to, problem } = useSearch({ from: '/sign-in' });
  const router = useRouter();
  const queries = useQueryClient();
  const target = to?.startsWith('/') && !to.startsWith('//') ? to : '/';
  const goOn = (session: OwnSession): void => {
    queries.clear();
    queries.setQueryData(sessionQuery.queryKey, session);
    // A path within the console: the router knows below which path that is served.
    void router.navigate({ href: target });
  };

  return (
    <Center mih="100dvh" p="md" component="main">
      <Paper withBorder p="xl" w="100%" maw={420} shadow="sm">
        <Stack>
          <Logo />
          <Title order={1} size="h3">
            Sign in
          </Title>
          <WaysToSignIn problem={problemText(problem)} target={target} onSignedIn={goOn} />
        </Stack>
      </Paper>
    </Center>
  );
}
