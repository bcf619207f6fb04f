import type { IncomingMessage } from 'node:http';

/** How long a refused upload is read on, so that a client that is still writing gets to read the refusal. */
const DISCARD_MS = 10_000;

/** Reads and discards the rest of a refused body; a sender who has not finished by then is cut off. */
export function discardRest(request: IncomingMessage): void {
  request.resume();
  const timer = setTimeout(() => request.destroy(), DISCARD_MS);
  request.once('close', () => clearTimeout(timer));
  request.once('end', () => clearTimeout(timer));
}
