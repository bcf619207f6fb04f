import { IconCircleCheck } from '@tabler/icons-react';
import { useEffect } from 'react';
import { EmptyState } from '../parts/empty-state.tsx';
import { announceSignIn } from './signed-in-elsewhere.ts';

/** The end of a sign-in beside a page that waits for it. */
export default function SignedInPage() {
  useEffect(announceSignIn, []);
  return (
    <EmptyState icon={IconCircleCheck} title="You are signed in">
      Close this tab and continue where you were.
    </EmptyState>
  );
}
