import { setImmediate as nextTurn } from 'node:timers/promises';

/** How long a turn of the event loop goes on with work that comes in pieces, in milliseconds. */
const MAX_TURN_MS = 15;
/** Smaller pieces cost less than to look at the clock for them. */
const MIN_PIECE_BYTES = 16_384;

/** When the present turn ended its first piece. */
let beganAt: number | null = null;
const endTurn = (): void => {
  beganAt = null;
};

/**
 * Whether the present turn has worked on pieces for long enough, so that others get theirs before the next one. A connection that
 * delivers fast is read many times in one turn. Call it after each piece, with its size.
 */
export function isTurnSpent(pieceBytes: number): boolean {
  if (pieceBytes < MIN_PIECE_BYTES) return false;
  const now = performance.now();
  if (beganAt === null) {
    beganAt = now;
    setImmediate(endTurn);
  }
  return now - beganAt > MAX_TURN_MS;
}

/** Goes on in another turn where the present one is spent. */
export const unlessSpent = (pieceBytes: number): Promise<unknown> | undefined =>
  isTurnSpent(pieceBytes) ? nextTurn() : undefined;
