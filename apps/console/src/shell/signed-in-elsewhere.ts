/** Where the identity provider leads back to after a sign-in beside a page that waits for it. */
export const SIGNED_IN_PATH = '/signed-in';

const CHANNEL = 'gateway-signed-in';

/** Hears of a sign-in that ended in another tab. Returns how to stop. */
export function onSignedInElsewhere(listener: () => void): () => void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.addEventListener('message', listener);
  return () => channel.close();
}

/** Tells the other tabs. */
export function announceSignIn(): void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.postMessage(null);
  channel.close();
}
