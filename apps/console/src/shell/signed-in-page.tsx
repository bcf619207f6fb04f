import { IconCircleCheck } from '@tabler/icons-react';
import { useEffect } from 'react';
import { EmptyState } from '../parts/empty-state.tsx';

export const SIGNED_IN_PATH = '/signed-in';

const CHANNEL = 'gateway-signed-in';

/** Hears of a sign-in that ended on `SignedInPage`, in another tab. Returns how to stop. */
export function onSignedInElsewhere(listener: () => void): () => void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.addEventListener('message', listener);
  return () => channel.close();
}

/** The end of a sign-in beside a page that waits for it. */
export function SignedInPage() {
  useEffect(() => {
    const channel = new BroadcastChannel(CHANNEL);
    channel.postMessage(null);
    channel.close();
  }, []);
  return (
    <EmptyState icon={IconCircleCheck} title="You are signed in">
      Close this tab and continue where you were.
    </EmptyState>
  );
}
