import { Button, Group, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { useEffect } from 'react';
import { api, bodyOf } from '../api/client.ts';
import { sessionEndedQuery, sessionQuery } from '../api/queries.ts';
import type { OwnSession } from '../api/types.ts';
import { Dialog } from '../parts/dialog.tsx';
import { duration } from '../parts/numbers.ts';
import { onSignedInElsewhere, SIGNED_IN_PATH } from './signed-in-elsewhere.ts';
import { WaysToSignIn } from './ways-to-sign-in.tsx';

/** Asks for a new sign-in above the page, on which everything that was typed stays. */
export default function SignInAgain({ former }: { former: OwnSession }) {
  const queries = useQueryClient();
  const router = useRouter();

  const goOn = (session: OwnSession): void => {
    const isSame = scopeOf(session) === scopeOf(former);
    // Another person's pages are not this one's.
    if (!isSame) queries.clear();
    queries.setQueryData(sessionQuery.queryKey, session);
    queries.setQueryData(sessionEndedQuery.queryKey, false);
    if (isSame) void queries.invalidateQueries();
    else void router.navigate({ to: '/' });
  };

  useEffect(() =>
    onSignedInElsewhere(() => bodyOf(api.GET('/admin/v1/session')).then(goOn, () => undefined)),
  );

  return (
    <Dialog
      onClose={() => undefined}
      withCloseButton={false}
      closeOnEscape={false}
      title="Your session has ended"
    >
      <Stack>
        <Text size="sm">{reasonOf(former, Date.now())} What you typed on this page is still there.</Text>
        <WaysToSignIn target={SIGNED_IN_PATH} isApart onSignedIn={goOn} />
        <Group justify="flex-end">
          <Button
            variant="default"
            onClick={() => void router.navigate({ to: '/sign-in' }).then(() => queries.clear())}
          >
            Leave this page
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}

/** What a session may see. */
const scopeOf = ({ role, teams, keyId }: OwnSession): string => JSON.stringify([role, teams, keyId]);

function reasonOf({ createdAt, expiresAt }: OwnSession, nowMs: number): string {
  const lengthMs = Date.parse(expiresAt) - Date.parse(createdAt);
  return Date.parse(expiresAt) <= nowMs
    ? `A session ends after ${duration(lengthMs / 1000)}, however much it is used.`
    : 'It was not used for a while, or it was ended in another window or by an admin.';
}
