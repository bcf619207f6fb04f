import type { Conversation } from './conversation.ts';
import { countTexts, LOOKED_AT_PER_CHARACTER, loadTextCounter, Turns } from './count-text.ts';
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

/** The characters of a text that some vocabularies know badly. */
interface Characters {
  ascii: number;
  digits: number;
  hangulBytes: number;
}

function addCharacters(to: Characters, text: string, from: number, end: number): void {
  for (let at = from; at < end; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit < 0x80) to.ascii += 1;
    if (unit >= 0x30 && unit <= 0x39) to.digits += 1;
    if (unit >= 0xac00 && unit <= 0xd7a3) to.hangulBytes += 3;
  }
}

/** What a model of whatever vocabulary makes of a text. No tokenizer makes more tokens than there are bytes. */
function onTheHighSide(text: string, counted: number, { ascii, digits, hangulBytes }: Characters): number {
  const bytes = Buffer.byteLength(text);
  const known = SMALLER_VOCABULARY * counted + PER_DIGIT * digits;
  const others = PER_FOREIGN_BYTE * (bytes - ascii - hangulBytes) + PER_HANGUL_BYTE * hangulBytes;
  const foreign = others + (SMALLER_VOCABULARY * ascii) / 4;
  return Math.min(bytes, Math.ceil(bytes === ascii ? known : Math.max(known, foreign)));
}

/** What is looked at in one go. */
const STRETCH = 65_536;

/** The input tokens of a conversation, counted with a tokenizer that is not the model's own. Other work has its turns meanwhile. */
export async function estimateTokens(conversation: Conversation): Promise<number> {
  const { texts, tokens } = contentOf(conversation);
  const turns = new Turns();
  const countOf = await countTexts(texts, await loadTextCounter(), turns);
  let count = tokens;
  for (const text of texts) {
    const characters: Characters = { ascii: 0, digits: 0, hangulBytes: 0 };
    for (let at = 0; at < text.length; at += STRETCH) {
      const end = Math.min(at + STRETCH, text.length);
      addCharacters(characters, text, at, end);
      if (turns.add((end - at) / LOOKED_AT_PER_CHARACTER)) await turns.next();
    }
    count += onTheHighSide(text, countOf(text), characters);
  }
  return count;
}

/** The texts of a conversation, and the tokens of everything else in it. */
interface Content {
  readonly texts: string[];
  tokens: number;
}

function contentOf({ system, turns, tools, outputFormat }: Conversation): Content {
  const content: Content = { texts: [], tokens: PER_REQUEST + (tools.length > 0 ? PER_TOOLS : 0) };
  const { texts } = content;
  for (const { text } of system) texts.push(text);
  content.tokens += PER_TURN * turns.length + PER_TOOL * tools.length;
  for (const { parts } of turns) for (const part of parts) addPart(content, part);
  for (const { at: _, ...tool } of tools) texts.push(JSON.stringify(tool));
  if (outputFormat?.type === 'schema') texts.push(JSON.stringify(outputFormat.schema));
  return content;
}

function addPart(content: Content, part: Part): void {
  const { texts } = content;
  switch (part.type) {
    case 'text':
    case 'refusal':
      texts.push(part.text);
      break;
    case 'image':
      content.tokens += PER_IMAGE;
      break;
    case 'audio':
      content.tokens += Math.ceil(part.data.length / AUDIO_BYTES_PER_TOKEN);
      break;
    case 'document':
      addDocument(content, part);
      break;
    case 'search-result':
      texts.push([part.title, part.source, ...part.texts].join('\n'));
      break;
    case 'tool-call':
      content.tokens += PER_CALL;
      texts.push(part.name, part.arguments);
      break;
    case 'tool-result':
      content.tokens += PER_CALL;
      for (const inner of part.content) addPart(content, inner);
      break;
    case 'reasoning':
      for (const text of part.texts) texts.push(text);
      break;
    case 'web-search':
    case 'foreign':
      break;
  }
}

function addDocument(content: Content, { source, title = '', context = '' }: DocumentPart): void {
  const { texts } = content;
  texts.push(title, context);
  if (source.type === 'text') texts.push(source.text);
  else if (source.type === 'content') for (const inner of source.parts) addPart(content, inner);
  else content.tokens += PER_PAGE * pages(source);
}

const pages = (source: MediaSource): number =>
  source.type === 'base64' ? Math.max(1, Math.ceil(source.data.length / BYTES_PER_PAGE)) : 1;
