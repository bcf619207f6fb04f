import { setImmediate } from 'node:timers/promises';

/** Counts the tokens of a short text. */
type CountPiece = (piece: string) => number;

/**
 * How many characters of a request are tokenized. The tokens of a longer one are projected from samples of so many: a
 * tokenizer takes up to 20 µs for a character of text that it does not know.
 */
export const EXACT_CHARACTERS = 32_768;
/** One sample of a longer text. */
const SAMPLE_CHARACTERS = 256;
/** A tokenizer's work grows faster than the piece that it is given. Texts are cut between words. */
const PIECE_CHARACTERS = 512;
/** Where there is no gap between words, since the piece's work grows with the square of its longest word. */
const RUN_CHARACTERS = 64;
/** What is tokenized before other work has its turn. */
const CHARACTERS_PER_TURN = 1024;
/** Of characters that are only looked at, so many weigh as much as one that is tokenized. */
export const LOOKED_AT_PER_CHARACTER = 256;

/** Makes long work give way to everything else. */
export class Turns {
  #characters = 0;

  /** Counts the work that has been done. True: `next` is to be awaited before more is done. */
  add(characters: number): boolean {
    this.#characters += characters;
    return this.#characters >= CHARACTERS_PER_TURN;
  }

  /** All estimates of a process together take one turn of the event loop in a row. */
  next(): Promise<void> {
    this.#characters = 0;
    lastTurn = lastTurn.then(() => setImmediate());
    return lastTurn;
  }
}

let lastTurn: Promise<void> = Promise.resolve();

/** The tokens of texts, by their characters: exact for as many as may be, else from samples all over them. */
export async function countTexts(
  texts: readonly string[],
  countPiece: CountPiece,
  turns: Turns,
): Promise<(text: string) => number> {
  const characters = texts.reduce((sum, { length }) => sum + length, 0);
  const isSampled = characters > EXACT_CHARACTERS;
  const counts = new Map<string, number>();
  let tokens = 0;
  let counted = 0;
  for (const sample of isSampled ? samplesOf(texts, characters) : texts) {
    let ofSample = 0;
    for (const piece of piecesOf(sample)) {
      ofSample += countPiece(piece);
      if (turns.add(piece.length)) await turns.next();
    }
    tokens += ofSample;
    counted += sample.length;
    if (!isSampled) counts.set(sample, ofSample);
  }
  return (text) => counts.get(text) ?? Math.ceil((text.length * tokens) / Math.max(counted, 1));
}

/** Samples at equal distances in all texts together. */
function* samplesOf(texts: readonly string[], characters: number): Generator<string> {
  const stride = Math.ceil((characters / EXACT_CHARACTERS) * SAMPLE_CHARACTERS);
  let begin = 0;
  let next = 0;
  for (const text of texts) {
    for (; next < begin + text.length; next += stride)
      yield text.slice(next - begin, next - begin + SAMPLE_CHARACTERS);
    begin += text.length;
  }
}

function* piecesOf(text: string): Generator<string> {
  let begin = 0;
  let run = 0;
  let wasGap = false;
  for (let at = 0; at < text.length; at += 1) {
    const isGap = text.charCodeAt(at) <= SPACE;
    const isWordEnd = isGap && !wasGap;
    run = isGap === wasGap ? run + 1 : 1;
    wasGap = isGap;
    if (run <= RUN_CHARACTERS && !(isWordEnd && at - begin >= PIECE_CHARACTERS)) continue;
    yield text.slice(begin, at);
    begin = at;
    run = 1;
  }
  if (begin < text.length) yield text.slice(begin);
}

const SPACE = 0x20;

let loading: Promise<CountPiece> | null = null;

/** The vocabulary of OpenAI's newer models. It is some megabytes of memory, so it is loaded when first needed. */
export const loadTextCounter = (): Promise<CountPiece> => {
  loading ??= load();
  return loading;
};

async function load(): Promise<CountPiece> {
  const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base');
  // Marks such as <|endoftext|> are ordinary text here.
  const options = { disallowedSpecial: new Set<string>() };
  return (piece) => countTokens(piece, options);
}
