/** Beyond this many characters a text's tokens are projected: a tokenizer would hold up every other request. */
const EXACT_CHARACTERS = 1_000_000;
/** A tokenizer's work grows faster than the piece it is given when that has no spaces. */
const PIECE_CHARACTERS = 4_096;

/** Counts the tokens of a text. */
export type CountText = (text: string) => number;

let loading: Promise<CountText> | null = null;

/** The vocabulary of OpenAI's newer models. It is some megabytes of memory, so it is loaded when first needed. */
export const loadTextCounter = (): Promise<CountText> => {
  loading ??= load();
  return loading;
};

async function load(): Promise<CountText> {
  const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base');
  // Marks such as <|endoftext|> are ordinary text here.
  const options = { disallowedSpecial: new Set<string>() };
  return (text) => {
    const exact = text.slice(0, EXACT_CHARACTERS);
    let count = 0;
    for (let at = 0; at < exact.length; at += PIECE_CHARACTERS)
      count += countTokens(exact.slice(at, at + PIECE_CHARACTERS), options);
    return text.length > exact.length ? Math.ceil((count * text.length) / exact.length) : count;
  };
}
