import type { Readable } from 'node:stream';

/** How long the rest of a refused upload is read, so that a client that is still writing can read the refusal. */
const DISCARD_MS = 10_000;
/** How many bytes of it: a body without an end is not read for the whole time. */
const MAX_DISCARDED_BYTES = 64 * 1024 * 1024;

/** What counts the bytes of each body, or connection, that is discarded. */
const counters = new WeakMap<Readable, (chunk: Buffer) => void>();

/**
 * Reads and discards the rest of what nobody reads any more: a request's body, or a refused connection. A sender who has not
 * finished in time, or sends more than is read, is cut off. It may be called several times.
 */
export function discardRest(source: Readable): void {
  const known = counters.get(source);
  // A reader that gave up may have removed all listeners.
  if (known !== undefined) source.off('data', known).on('data', known);
  else beginDiscarding(source);
  source.resume();
}

function beginDiscarding(source: Readable): void {
  let bytes = 0;
  const count = (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_DISCARDED_BYTES) source.destroy();
  };
  counters.set(source, count);
  source.on('data', count);
  // Node takes a request that nobody has read from, when its response ends, for one whose body need not be told of.
  source.read();
  const timer = setTimeout(() => source.destroy(), DISCARD_MS);
  source.once('close', () => clearTimeout(timer));
  source.once('end', () => clearTimeout(timer));
}
