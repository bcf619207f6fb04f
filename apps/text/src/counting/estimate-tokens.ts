import type { Conversation } from '../protocols/conversation/conversation.ts';
import type { DocumentPart, MediaSource, Part } from '../protocols/conversation/parts.ts';
import type { CountText } from './count-text.ts';

/** What a turn, and a tool's definition, cost beside their texts, in tokens. */
const [PER_TURN, PER_TOOL] = [4, 8];
/** A picture of a megapixel, the usual upper bound; what it shows cannot be seen without fetching it. */
const PER_IMAGE = 1_600;
/** One page of a document, and how many bytes of a PDF make one: a guess that errs on the high side. */
const [PER_PAGE, BYTES_PER_PAGE] = [2_000, 50_000];
/** Ten tokens a second of sound, at the usual bit rates. */
const AUDIO_BYTES_PER_TOKEN = 1_600;

/** The input tokens of a conversation, counted with a tokenizer that is not the model's own. */
export function estimateTokens(conversation: Conversation, countText: CountText): number {
  const { system, turns, tools, outputFormat } = conversation;
  let count = 0;
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
      return countText(part.name) + countText(part.arguments);
    case 'tool-result':
      return part.content.reduce((sum, inner) => sum + partTokens(inner, countText), 0);
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
