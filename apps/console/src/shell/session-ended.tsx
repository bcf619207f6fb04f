import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import { sessionEndedQuery, sessionQuery } from '../api/queries.ts';

/** Loaded when it is needed, which needs no session. */
const SignInAgain = lazy(() => import('./sign-in-again.tsx'));

/** Shows that the session has ended while the page was open. */
export function SessionEnded() {
  const { data: hasEnded } = useQuery(sessionEndedQuery);
  const { data: session } = useQuery({ ...sessionQuery, enabled: false });
  if (!hasEnded || session === undefined) return null;
  return (
    <Suspense>
      <SignInAgain former={session} />
    </Suspense>
  );
}
