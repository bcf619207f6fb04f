import type { TranscriptSegment } from '@gateway/contracts/openai/transcriptions';
import { timestamp } from './timestamp.ts';

/**
 * A segment's text as a cue may hold it: trimmed, no blank line (it would end the cue), no arrow (it would begin a new
 * one). A known speaker comes before it, as in the `text` of diarized transcripts.
 */
function cueText({ text, speaker }: TranscriptSegment): string {
  const words = text
    .trim()
    .replaceAll(/\s*\n\s*/g, '\n')
    .replaceAll('-->', '->');
  return typeof speaker === 'string' && speaker !== '' ? `${speaker}: ${words}` : words;
}

const times = ({ start, end }: TranscriptSegment, separator: ',' | '.'): string =>
  `${timestamp(start, separator)} --> ${timestamp(end, separator)}`;

/** SubRip: numbered cues, a comma before the milliseconds, a blank line after each cue. */
export const toSrt = (segments: readonly TranscriptSegment[]): string =>
  segments.map((segment, index) => `${index + 1}\n${times(segment, ',')}\n${cueText(segment)}\n\n`).join('');

/** WebVTT: a header, no numbers, a point before the milliseconds, a blank line after each cue. */
export const toVtt = (segments: readonly TranscriptSegment[]): string =>
  `WEBVTT\n\n${segments.map((segment) => `${times(segment, '.')}\n${cueText(segment)}\n\n`).join('')}`;
