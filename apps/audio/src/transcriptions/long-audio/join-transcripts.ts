import {
  SEEK_PER_SECOND,
  segmentId,
  speakerLetter,
  type Transcript,
  type TranscriptFormat,
  type TranscriptSegment,
} from '@gateway/contracts/openai/transcriptions';
import { z } from 'zod';

/** The transcript of one part of a recording. */
export interface PartTranscript {
  readonly transcript: Transcript;
  /** Where the part begins in the whole, in seconds. */
  readonly start: number;
  readonly end: number;
}

/** What has been joined so far. */
export interface Joined {
  readonly transcript: Transcript;
  /** Letters given to speakers whose names are not known. */
  readonly speakers: number;
}

const Timed = z.looseObject({ start: z.number(), end: z.number() });
const Words = z.array(Timed);
const Lists = z.array(z.unknown());

const rounded = (seconds: number): number => Math.round(seconds * 1000) / 1000;

/** What separates the texts of two parts: speakers begin new lines. */
export const separatorOf = (wanted: TranscriptFormat): string => (wanted === 'diarized_json' ? '\n' : ' ');

/**
 * A part's transcript within the whole: its times counted from the beginning of the recording, its segments
 * numbered on, and its unnamed speakers under letters of their own, since nothing shows whether the A of one part is the
 * A of another.
 */
export function shiftPart({ transcript, start }: PartTranscript, before: Joined | null): Joined {
  // Of silence there is nothing to time.
  const ifSilent = transcript.text.trim() === '' ? [] : undefined;
  const segments = transcript.segments ?? ifSilent;
  const first = before?.transcript.segments?.length ?? 0;
  const letters = new Map<string, string>();
  const taken = before?.speakers ?? 0;
  const nameOf = (speaker: string): string => {
    if (!UNNAMED.test(speaker)) return speaker;
    const known = letters.get(speaker) ?? speakerLetter(taken + letters.size);
    letters.set(speaker, known);
    return known;
  };
  const shifted = segments?.map((segment, index): TranscriptSegment => {
    const { id, seek, speaker } = segment;
    return {
      ...segment,
      start: rounded(segment.start + start),
      end: rounded(segment.end + start),
      ...(typeof id === 'number' && { id: first + index }),
      ...(typeof id === 'string' && { id: segmentId(first + index) }),
      ...(typeof seek === 'number' && { seek: seek + Math.round(start * SEEK_PER_SECOND) }),
      ...(typeof speaker === 'string' && { speaker: nameOf(speaker) }),
    };
  });
  const words = (Words.safeParse(transcript.words).data ?? ifSilent)?.map((word) => ({
    ...word,
    start: rounded(word.start + start),
    end: rounded(word.end + start),
  }));
  const isRenamed = [...letters].some(([from, to]) => from !== to);
  const text = isRenamed && shifted ? dialogueOf(shifted) : transcript.text.trim();
  return {
    speakers: taken + letters.size,
    transcript: { ...transcript, text, ...(shifted && { segments: shifted }), ...(words && { words }) },
  };
}

const UNNAMED = /^[A-Z]$/;

const dialogueOf = (segments: readonly TranscriptSegment[]): string =>
  segments.map(({ speaker, text }) => `${String(speaker)}: ${text.trim()}`).join('\n');

/** Appends a shifted part to what has been joined. */
export function joinShifted(before: Joined | null, shifted: Joined, wanted: TranscriptFormat): Joined {
  if (before === null) return shifted;
  const [a, b] = [before.transcript, shifted.transcript];
  const both = <Name extends string>(name: Name) => {
    const [left, right] = [Lists.safeParse(a[name]).data, Lists.safeParse(b[name]).data];
    return { [name]: left && right ? [...left, ...right] : undefined };
  };
  const segments =
    a.segments && b.segments ? { segments: [...a.segments, ...b.segments] } : { segments: undefined };
  return {
    speakers: shifted.speakers,
    transcript: {
      ...a,
      text: [a.text, b.text].filter((text) => text !== '').join(separatorOf(wanted)),
      ...segments,
      ...both('words'),
      ...both('logprobs'),
      usage: summedUsage(a.usage, b.usage),
    },
  };
}

type Usage = NonNullable<Transcript['usage']>;

/** Undefined if one of them reports nothing, or they count different things. */
function summedUsage(a: Transcript['usage'], b: Transcript['usage']): Usage | undefined {
  if (!a || !b || a.type !== b.type) return undefined;
  return Object.fromEntries(Object.entries(a).map(([name, value]) => [name, summed(value, b[name])]));
}

function summed(a: unknown, b: unknown): unknown {
  if (typeof a === 'number' && typeof b === 'number') return a + b;
  const [left, right] = [Members.safeParse(a).data, Members.safeParse(b).data];
  if (!left || !right) return a;
  return Object.fromEntries(Object.entries(left).map(([name, value]) => [name, summed(value, right[name])]));
}

const Members = z.record(z.string(), z.unknown());
