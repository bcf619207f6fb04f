import type { TranscriptSegment } from '@gateway/contracts/openai/transcriptions';

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

const MS_PER_HOUR = 3_600_000;
const MS_PER_MINUTE = 60_000;

const padded = (value: number, digits: number): string => String(Math.floor(value)).padStart(digits, '0');

/** Seconds as `00:00:03,320` (srt) or `00:00:03.320` (vtt): hours always present, rounded to the millisecond. */
function timestamp(seconds: number, separator: ',' | '.'): string {
  const totalMs = Math.round(seconds * 1000);
  const hours = padded(totalMs / MS_PER_HOUR, 2);
  const minutes = padded((totalMs % MS_PER_HOUR) / MS_PER_MINUTE, 2);
  const rest = padded((totalMs % MS_PER_MINUTE) / 1000, 2);
  return `${hours}:${minutes}:${rest}${separator}${padded(totalMs % 1000, 3)}`;
}
