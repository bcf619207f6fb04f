import type { IncomingMessage } from 'node:http';

/** How long the rest of a refused upload is read, so that a client that is still writing can read the refusal. */
const DISCARD_MS = 10_000;

/** Reads and discards the rest of a refused body; a sender who has not finished by then is cut off. */
export function discardRest(request: IncomingMessage): void {
  request.resume();
  const timer = setTimeout(() => request.destroy(), DISCARD_MS);
  request.once('close', () => clearTimeout(timer));
  request.once('end', () => clearTimeout(timer));
}
