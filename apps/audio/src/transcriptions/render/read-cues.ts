import type { TranscriptSegment } from '@gateway/contracts/openai/transcriptions';

/** The line of times in SubRip and WebVTT: hours are optional in the second, settings may follow. */
const TIMES =
  /^(?:(\d+):)?(\d{1,2}):(\d{1,2})[.,](\d{1,3})[ \t]+-->[ \t]+(?:(\d+):)?(\d{1,2}):(\d{1,2})[.,](\d{1,3})/;

/** The cues of subtitles as segments; null for a text that is none. */
export function segmentsOfCues(text: string): TranscriptSegment[] | null {
  const isVtt = /^WEBVTT\b/.test(text);
  const segments = text
    .split(/\r?\n(?:[ \t]*\r?\n)+/)
    .flatMap((block): TranscriptSegment[] => segmentOf(block.split(/\r?\n/)) ?? []);
  return segments.length > 0 || isVtt ? segments : null;
}

function segmentOf(lines: readonly string[]): TranscriptSegment[] | null {
  // A number or a name may come before the times.
  const at = lines.slice(0, 2).findIndex((line) => TIMES.test(line.trim()));
  const parts = TIMES.exec(lines[at]?.trim() ?? '');
  if (parts === null) return null;
  const text = lines
    .slice(at + 1)
    .join('\n')
    .trim();
  return [{ start: secondsOf(parts.slice(1, 5)), end: secondsOf(parts.slice(5, 9)), text }];
}

function secondsOf([hours = '0', minutes, seconds, fraction = '0']: readonly (string | undefined)[]): number {
  return Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds) + Number(`0.${fraction}`);
}
