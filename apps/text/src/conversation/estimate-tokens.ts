import type { Conversation } from './conversation.ts';
import type { DocumentPart, MediaSource, Part } from './parts.ts';

/** What the templates of chat models put around the texts, in tokens; the explanation of tools comes once. */
const [PER_REQUEST, PER_TURN, PER_TOOLS, PER_TOOL, PER_CALL] = [4, 6, 64, 16, 16];
/** A picture of a megapixel, the usual upper bound; what it shows cannot be seen without fetching it. */
const PER_IMAGE = 1_600;
/** One page of a document, and how many bytes of a PDF make one: a guess that errs on the high side. */
const [PER_PAGE, BYTES_PER_PAGE] = [2_000, 50_000];
/** Ten tokens a second of sound, at the usual bit rates. */
const AUDIO_BYTES_PER_TOKEN = 1_600;

/** Smaller vocabularies than the counted one need up to so many times its tokens for English and code. */
const SMALLER_VOCABULARY = 1.35;
/** Many tokenizers make each digit a token of its own. */
const PER_DIGIT = 0.7;
/** Vocabularies that know little beside English write other scripts nearly byte by byte, Korean most of all. */
const [PER_FOREIGN_BYTE, PER_HANGUL_BYTE] = [0.7, 0.95];

/** What a model of whatever vocabulary makes of a text. No tokenizer makes more tokens than there are bytes. */
function onTheHighSide(text: string, counted: number): number {
  const bytes = Buffer.byteLength(text);
  let digits = 0;
  let ascii = 0;
  let hangul = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit < 0x80) ascii += 1;
    if (unit >= 0x30 && unit <= 0x39) digits += 1;
    if (unit >= 0xac00 && unit <= 0xd7a3) hangul += 3;
  }
  const known = SMALLER_VOCABULARY * counted + PER_DIGIT * digits;
  const others = PER_FOREIGN_BYTE * (bytes - ascii - hangul) + PER_HANGUL_BYTE * hangul;
  const foreign = others + (SMALLER_VOCABULARY * ascii) / 4;
  return Math.min(bytes, Math.ceil(bytes === ascii ? known : Math.max(known, foreign)));
}

/** The input tokens of a conversation, counted with a tokenizer that is not the model's own. */
export function estimateTokens(conversation: Conversation, exactly: CountText): number {
  const { system, turns, tools, outputFormat } = conversation;
  const countText: CountText = (text) => onTheHighSide(text, exactly(text));
  let count = PER_REQUEST + (tools.length > 0 ? PER_TOOLS : 0);
  for (const { text } of system) count += countText(text);
  for (const { parts } of turns) {
    count += PER_TURN;
    for (const part of parts) count += partTokens(part, countText);
  }
  for (const { at: _, ...tool } of tools) count += PER_TOOL + countText(JSON.stringify(tool));
  if (outputFormat?.type === 'schema') count += countText(JSON.stringify(outputFormat.schema));
  return count;
}

function partTokens(part: Part, countText: CountText): number {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return countText(part.text);
    case 'image':
      return PER_IMAGE;
    case 'audio':
      return Math.ceil(part.data.length / AUDIO_BYTES_PER_TOKEN);
    case 'document':
      return documentTokens(part, countText);
    case 'search-result':
      return countText([part.title, part.source, ...part.texts].join('\n'));
    case 'tool-call':
      return PER_CALL + countText(part.name) + countText(part.arguments);
    case 'tool-result':
      return part.content.reduce((sum, inner) => sum + partTokens(inner, countText), PER_CALL);
    case 'reasoning':
      return part.texts.reduce((sum, text) => sum + countText(text), 0);
    case 'web-search':
    case 'foreign':
      return 0;
  }
}

function documentTokens({ source, title = '', context = '' }: DocumentPart, countText: CountText): number {
  const head = countText(title) + countText(context);
  if (source.type === 'text') return head + countText(source.text);
  if (source.type === 'content')
    return head + source.parts.reduce((sum, inner) => sum + partTokens(inner, countText), 0);
  return head + PER_PAGE * pages(source);
}

const pages = (source: MediaSource): number =>
  source.type === 'base64' ? Math.max(1, Math.ceil(source.data.length / BYTES_PER_PAGE)) : 1;

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
