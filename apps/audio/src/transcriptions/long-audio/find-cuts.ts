import type { Silence } from './ffmpeg.ts';

interface CutOptions {
  readonly durationSeconds: number;
  readonly silences: readonly Silence[];
  /** The longest that a part may last. */
  readonly maxSeconds: number;
}

/** A part should not be much shorter than it may be: silences in this last share of it are preferred. */
const LATE_SHARE = 0.5;

/** What is left over at the end belongs to the part before it, so that no part is too short to be sent. */
const MIN_SECONDS = 0.1;

/**
 * Where to cut a recording so that no part is longer than it may be: in the middle of the last silence that a part can
 * reach, or at its bound where nobody pauses.
 *
 * @returns the parts' beginnings and ends, in seconds, without a gap
 */
export function findParts({
  durationSeconds,
  silences,
  maxSeconds,
}: CutOptions): readonly { readonly start: number; readonly end: number }[] {
  const middles = silences.map(({ start, end }) => (start + end) / 2);
  const parts: { start: number; end: number }[] = [];
  let start = 0;
  while (durationSeconds - start > maxSeconds) {
    const bound = start + maxSeconds;
    const earliest = start + maxSeconds * LATE_SHARE;
    const cut = middles.findLast((middle) => middle >= earliest && middle <= bound);
    const end = Math.min(cut ?? bound, durationSeconds - MIN_SECONDS);
    parts.push({ start, end });
    start = end;
  }
  return [...parts, { start, end: durationSeconds }];
}
