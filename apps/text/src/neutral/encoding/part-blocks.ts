import { refuseParameter } from '../losses.ts';
import type {
  AudioPart,
  Part,
  ReasoningPart,
  ResultContent,
  ToolCallPart,
  ToolResultPart,
} from '../parts.ts';

/** What users and tools show, beside text that an assistant says. */
export type ShownPart = ResultContent | AudioPart;

export function isShown(part: Part): part is Extract<Part, ShownPart> {
  return SHOWN.has(part.type);
}

const SHOWN: ReadonlySet<Part['type']> = new Set<ShownPart['type']>([
  'text',
  'image',
  'document',
  'search-result',
  'audio',
]);

/** How a protocol whose messages are lists of blocks writes each kind of part. */
export interface BlockWriter<Block, Encoder> {
  readonly text: (text: string) => Block;
  readonly call: (call: ToolCallPart, encoder: Encoder) => Block;
  readonly result: (result: ToolResultPart, encoder: Encoder) => Block;
  readonly reasoning: (reasoning: ReasoningPart, encoder: Encoder) => Block[];
  readonly shown: (part: Exclude<ResultContent, { type: 'text' }>, encoder: Encoder) => Block[];
}

/** The blocks of one part; none for what has nothing to show. Blank text is refused. */
export function partBlocks<Block, Encoder>(
  part: Part,
  encoder: Encoder,
  write: BlockWriter<Block, Encoder>,
): Block[] {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return part.text.trim() === '' ? [] : [write.text(part.text)];
    case 'tool-call':
      return [write.call(part, encoder)];
    case 'tool-result':
      return [write.result(part, encoder)];
    case 'reasoning':
      return write.reasoning(part, encoder);
    case 'audio':
      return refuseParameter(part.at ?? [], 'Audio cannot be shown to the model that would answer.');
    case 'web-search':
    case 'foreign':
      return [];
    default:
      return write.shown(part, encoder);
  }
}
