import type { Conversation, Turn } from '../neutral/conversation.ts';
import { documentText, searchResultText, textOf } from '../neutral/encoding/plain-text.ts';
import { ResultQueues } from '../neutral/encoding/result-queues.ts';
import type { ImagePart, Part, ResultContent, ToolResultPart } from '../neutral/parts.ts';

/** How much of a conversation its summary is made from. Lengths are in characters. */
export interface TranscriptBounds {
  /** Of what a tool returned, and of what it was called with. */
  readonly toolText: number;
  /** Of a document or a search result. */
  readonly document: number;
  /** Of the instructions before the conversation. */
  readonly instructions: number;
  /** The latest so many are shown; a text replaces the others. */
  readonly images: number;
}

export interface Transcript {
  readonly text: string;
  /** In their order; the text names them. */
  readonly images: readonly ImagePart[];
}

/**
 * A conversation as one text that any model can summarise: every message whole, each tool's result right after its call.
 * What tools return is cut in the middle where it is long.
 */
export const transcriptOf = (conversation: Conversation, bounds: TranscriptBounds): Transcript =>
  new TranscriptWriter(conversation, bounds).write();

/** The end of a long output shows how it went. */
const TAIL_SHARE = 0.3;

/** A text of at most so many characters, without its middle. */
export function shortened(text: string, max: number): string {
  if (text.length <= max) return text;
  const tail = Math.floor(max * TAIL_SHARE);
  const left = text.length - max;
  return `${text.slice(0, max - tail)}\n[… ${left} characters left out …]\n${text.slice(text.length - tail)}`;
}

/** What another provider keeps cannot be shown. */
const isImage = (part: Part): part is ImagePart => part.type === 'image' && part.source.type !== 'file';
const isResult = (part: Part): part is ToolResultPart => part.type === 'tool-result';

class TranscriptWriter {
  readonly #conversation: Conversation;
  readonly #bounds: TranscriptBounds;
  readonly #results: ResultQueues;
  readonly #images: readonly ImagePart[];
  readonly #lines: string[] = [];

  constructor(conversation: Conversation, bounds: TranscriptBounds) {
    this.#conversation = conversation;
    this.#bounds = bounds;
    const parts = conversation.turns.flatMap((turn) => turn.parts);
    this.#results = new ResultQueues(parts.filter(isResult));
    const images = parts.flatMap((part) => (isResult(part) ? part.content.filter(isImage) : part));
    this.#images = bounds.images === 0 ? [] : images.filter(isImage).slice(-bounds.images);
  }

  write(): Transcript {
    const { system, turns } = this.#conversation;
    const instructions = shortened(textOf(system, '\n\n'), this.#bounds.instructions);
    if (instructions !== '') this.#add('instructions', instructions);
    for (const turn of turns) for (const part of turn.parts) this.#part(part, turn);
    return { text: ['<conversation>', ...this.#lines, '</conversation>'].join('\n'), images: this.#images };
  }

  #add(tag: string, text: string, attributes = ''): void {
    this.#lines.push(`<${tag}${attributes}>\n${text}\n</${tag}>`);
  }

  #part(part: Part, { role }: Turn): void {
    switch (part.type) {
      case 'tool-call': {
        const { id, name } = part;
        const called = shortened(part.arguments, this.#bounds.toolText);
        this.#add('tool_call', called, ` name=${JSON.stringify(name)} id=${JSON.stringify(id)}`);
        const result = this.#results.take(id);
        if (result === undefined) this.#lines.push(`<tool_result id=${JSON.stringify(id)} pending="true"/>`);
        else this.#result(result);
        break;
      }
      case 'tool-result': {
        // A result without a call; the others are written with their calls.
        if (this.#results.takeIfNext(part)) this.#result(part);
        break;
      }
      case 'reasoning':
        if (part.texts.length > 0) this.#add('reasoning', part.texts.join('\n\n'));
        break;
      case 'web-search':
        this.#add('web_search', [...part.queries, ...part.sources.map(({ url }) => url)].join('\n'));
        break;
      case 'foreign':
        break;
      default: {
        const text = part.type === 'refusal' ? part.text : this.#shown(part);
        if (text !== '') this.#add(role, text);
      }
    }
  }

  #result({ callId, content, isError }: ToolResultPart): void {
    const text = content.map((part) => this.#shown(part)).join('\n');
    const failed = isError ? ' failed="true"' : '';
    const id = ` id=${JSON.stringify(callId)}${failed}`;
    this.#add('tool_result', shortened(text, this.#bounds.toolText), id);
  }

  #shown(part: ResultContent | Extract<Part, { type: 'audio' }>): string {
    switch (part.type) {
      case 'text':
        return part.text;
      case 'image': {
        const number = this.#images.indexOf(part) + 1;
        return number > 0 ? `[image ${number}, shown below]` : '[an image]';
      }
      case 'audio':
        return '[a sound]';
      case 'search-result':
        return shortened(searchResultText(part), this.#bounds.document);
      case 'document': {
        const { source } = part;
        if (source.type === 'text') return shortened(documentText(part, source.text), this.#bounds.document);
        if (source.type !== 'content') return documentText(part, '[a file]');
        const inner = source.parts.map((piece) => this.#shown(piece)).join('\n');
        return shortened(documentText(part, inner), this.#bounds.document);
      }
    }
  }
}
