import { Transcript, TranscriptSegment } from '@gateway/contracts/openai/transcriptions';
import { z } from 'zod';

/** Longer than any recording, in seconds: what is beyond it is no time. */
const MAX_SECONDS = 1e6;
/** Some servers count in nanoseconds. No time in seconds is as large, and no pause between two words as short. */
const MIN_NANOSECONDS = 1e7;
const NS_PER_SECOND = 1e9;

const Members = z.record(z.string(), z.unknown());
type Members = z.infer<typeof Members>;
const Times = z.object({ start: z.number().min(0), end: z.number().max(MAX_SECONDS) });

/** A transcript, and whether it is as the server sent it. */
export interface RepairedTranscript {
  readonly transcript: Transcript;
  readonly isAsSent: boolean;
}

/**
 * The transcript in JSON that a server sent, with what can be said of it: a text always, times as far as they are any. What is
 * missing or absurd takes the time of its neighbour; where no time is one, the parts are left out. Undefined for what has no text.
 */
export function repairedTranscript(value: unknown): RepairedTranscript | undefined {
  const asSent = Transcript.safeParse(value).data;
  if (asSent !== undefined && isSound(asSent)) return { transcript: asSent, isAsSent: true };
  const sent = Members.safeParse(Array.isArray(value) ? { segments: value } : value).data;
  if (sent === undefined) return undefined;
  const { text: _text, segments, words, duration, usage, ...rest } = sent;
  const seconds = numberIn(duration);
  const timedSegments = repairedParts(segments, 'text')?.map((part, index) => ({ id: index, ...part }));
  const timedWords = repairedParts(words, 'word');
  const text = textOf(sent);
  if (text === undefined) return undefined;
  const usageMembers = Members.safeParse(usage).data;
  return {
    isAsSent: false,
    transcript: {
      ...rest,
      text,
      ...(seconds !== undefined && seconds >= 0 && seconds <= MAX_SECONDS && { duration: seconds }),
      ...(timedSegments && { segments: z.array(TranscriptSegment).parse(timedSegments) }),
      ...(timedWords && { words: timedWords }),
      ...(usageMembers && { usage: usageMembers }),
    },
  };
}

/** Whether its times are times, and its text is in its place. */
function isSound({ text, segments, words }: Transcript): boolean {
  const hasText = text !== '' || !segments?.some((segment) => segment.text.trim() !== '');
  const areWords = words === undefined || words === null || (Array.isArray(words) && words.every(isTimed));
  return hasText && areWords && (segments ?? []).every(isTimed);
}

function isTimed(part: unknown): boolean {
  const times = Times.safeParse(part).data;
  return times !== undefined && times.start <= times.end;
}

/** The text, else that of its segments, else its words. */
function textOf({ text, segments, words }: Members): string | undefined {
  if (typeof text === 'string' && text !== '') return text;
  const joined = [segments, words].map((parts) =>
    partsIn(parts).flatMap(
      ({ text: own, word }) => [own, word].find((each) => typeof each === 'string') ?? [],
    ),
  );
  const found = joined.find((texts) => texts.length > 0)?.map((each) => String(each).trim());
  if (found !== undefined) return found.join(' ');
  // Silence has no segments, and a server that only has segments says no more of it.
  return typeof text === 'string' || Array.isArray(segments) ? '' : undefined;
}

const partsIn = (value: unknown): Members[] =>
  Array.isArray(value)
    ? value.flatMap((part: unknown): Members[] => listOf(Members.safeParse(part).data))
    : [];

const listOf = <Value>(value: Value | undefined): Value[] => (value === undefined ? [] : [value]);

/** Parts with times, in their order; undefined where none of them has a time. */
function repairedParts(value: unknown, name: 'text' | 'word'): Members[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const parts = partsIn(value).filter((part) => typeof part[name] === 'string');
  const numbers = parts.map(({ start, end }) => [numberIn(start), numberIn(end)] as const);
  const largest = Math.max(
    0,
    ...numbers
      .flat()
      .map((each) => each ?? 0)
      .filter((each) => each < Number.MAX_SAFE_INTEGER),
  );
  const scale = largest >= MIN_NANOSECONDS ? NS_PER_SECOND : 1;
  const times = numbers.map((pair) => pair.map((each) => timeOf(each, scale)));
  if (parts.length > 0 && times.flat().every((each) => each === undefined)) return undefined;
  let before = 0;
  return parts.map((part, index) => {
    const [ownStart, ownEnd] = times[index] ?? [];
    const start = Math.max(ownStart ?? before, 0);
    const next = times.slice(index + 1, index + 2).flat()[0];
    const end = [ownEnd, next].find((each) => each !== undefined && each >= start) ?? start;
    before = end;
    return { ...part, start, end };
  });
}

function timeOf(value: number | undefined, scale: number): number | undefined {
  const seconds = value === undefined ? Number.NaN : value / scale;
  // A little less than nothing is the beginning.
  return seconds >= -1 && seconds <= MAX_SECONDS ? Math.max(0, seconds) : undefined;
}

/** A number, also one in quotes. */
function numberIn(value: unknown): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}
