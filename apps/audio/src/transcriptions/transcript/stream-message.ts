import { z } from 'zod';

/**
 * The first text that a streaming job emits: the channel, what it had no parameter for, and what was called until it began. All that follow are pieces of the
 * event stream.
 */
export const StreamHead = z.strictObject({
  channel: z.string(),
  dropped: z.array(z.string()).optional(),
  attemptList: z.string().optional(),
});
export type StreamHead = z.infer<typeof StreamHead>;

/** A queue carries texts of at most 65,536 UTF-16 units. */
const PIECE_MAX_UNITS = 65_000;
const LOW_SURROGATES = /^[\udc00-\udfff]/;

/** Cuts a text into pieces that the queue carries, never between the halves of a character. */
export function* piecesOf(text: string, maxUnits = PIECE_MAX_UNITS): Generator<string> {
  let start = 0;
  while (start < text.length) {
    let end = Math.min(start + maxUnits, text.length);
    if (LOW_SURROGATES.test(text.charAt(end))) end -= 1;
    yield text.slice(start, end);
    start = end;
  }
}
