const WORDS_PER_SECOND = 2.5;
const WORDS_PER_SEGMENT = 9;
const VOCABULARY =
  'the beach was a popular spot on this hot summer day people were swimming in an ocean while others read their books under large umbrellas and children built castles of wet sand'.split(
    ' ',
  );

export interface TranscriptWord {
  readonly word: string;
  readonly start: number;
  readonly end: number;
}

export interface TranscriptSegment {
  readonly start: number;
  readonly end: number;
  /** Without surrounding space. */
  readonly text: string;
}

export interface Transcript {
  readonly text: string;
  readonly durationSeconds: number;
  readonly words: readonly TranscriptWord[];
  readonly segments: readonly TranscriptSegment[];
}

const hundredths = (seconds: number): number => Math.round(seconds * 100) / 100;

const sentence = (words: readonly TranscriptWord[]): string => {
  const text = words.map(({ word }) => word).join(' ');
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
};

/** The transcript of so many seconds: two and a half words a second, a segment every nine words. */
export const transcriptOf = (durationSeconds: number): Transcript => {
  const count = Math.max(1, Math.round(durationSeconds * WORDS_PER_SECOND));
  const words = Array.from({ length: count }, (_, index) => ({
    word: VOCABULARY[index % VOCABULARY.length] ?? '',
    start: hundredths((durationSeconds * index) / count),
    end: hundredths((durationSeconds * (index + 1)) / count),
  }));
  const segments: TranscriptSegment[] = [];
  for (let first = 0; first < count; first += WORDS_PER_SEGMENT) {
    const spoken = words.slice(first, first + WORDS_PER_SEGMENT);
    segments.push({ start: spoken[0]?.start ?? 0, end: spoken.at(-1)?.end ?? 0, text: sentence(spoken) });
  }
  return { text: segments.map(({ text }) => text).join(' '), durationSeconds, words, segments };
};
