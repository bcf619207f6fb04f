import { speakerLetter } from '@gateway/contracts/openai/transcriptions';
import type { Turn } from '../library.ts';

/** A word, or what comes between two, with its times in seconds. */
export interface Word {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

export interface Segment extends Word {
  readonly id: number;
}

/** A pause that ends a segment even in the middle of a sentence. */
const PAUSE_SECONDS = 1;
/** Subtitles are not read any longer. */
const MAX_SEGMENT_SECONDS = 12;
const SENTENCE_END = /[.!?…。！？]["')\]”’]*\s*$/;

/**
 * Words as the transcript spells them: providers give them without punctuation, without the spaces between them, or
 * with these as entries of their own.
 */
export function spelledWords(transcript: string, timed: readonly Word[]): readonly Word[] {
  const words = timed.filter(({ text }) => text.trim() !== '');
  const tokens = transcript.split(/\s+/).filter((token) => token !== '');
  if (tokens.length !== words.length) return words.map((word) => ({ ...word, text: word.text.trim() }));
  return words.map((word, index) => ({ ...word, text: tokens[index] ?? word.text }));
}

/** Groups words into segments: by sentences, by pauses, and before they last too long. Their times are the words'. */
export function segmentsOf(transcript: string, words: readonly Word[]): readonly Segment[] {
  const groups: Word[][] = [];
  for (const word of words) {
    const last = groups.at(-1);
    const [first] = last ?? [];
    const before = last?.at(-1);
    const begins =
      before === undefined ||
      first === undefined ||
      SENTENCE_END.test(before.text) ||
      word.start - before.end >= PAUSE_SECONDS ||
      word.end - first.start > MAX_SEGMENT_SECONDS;
    if (begins) groups.push([word]);
    else last?.push(word);
  }
  let end = 0;
  return groups.map((group, id) => {
    const [first] = group;
    const last = group.at(-1);
    const from = end;
    for (const { text } of group) {
      const at = transcript.indexOf(text, end);
      if (at !== -1) end = at + text.length;
    }
    const spoken = transcript.slice(from, end).trim();
    const text = spoken === '' ? group.map((word) => word.text).join(' ') : spoken;
    return { id, start: first?.start ?? 0, end: last?.end ?? 0, text };
  });
}

/** Joins the words of one speaker without a break, and calls the speakers A, B, C in the order in which they begin. */
export function turnsOfWords(words: readonly Turn[]): readonly Turn[] {
  const letters = new Map<string, string>();
  const turns: { start: number; end: number; text: string; speaker: string }[] = [];
  for (const { speaker, text, start, end } of words) {
    const letter = letters.get(speaker) ?? speakerLetter(letters.size);
    letters.set(speaker, letter);
    const last = turns.at(-1);
    if (last?.speaker === letter) {
      // A space lasts until the next speaker begins.
      if (text.trim() !== '') last.end = end;
      last.text += text;
    } else turns.push({ start, end, text, speaker: letter });
  }
  return turns.map((turn) => ({ ...turn, text: turn.text.trim() })).filter(({ text }) => text !== '');
}
