/** The simulated model's answer, before a protocol encodes it. */
export type AnswerPart =
  | { readonly kind: 'reasoning'; readonly text: string; readonly tokens: number }
  | { readonly kind: 'text'; readonly text: string; readonly citation: Citation | null }
  | { readonly kind: 'refusal'; readonly text: string }
  | { readonly kind: 'tool-call'; readonly name: string; readonly arguments: string }
  | { readonly kind: 'custom-call'; readonly name: string; readonly input: string }
  | { readonly kind: 'web-search'; readonly query: string }
  | { readonly kind: 'file-search'; readonly query: string };

/** A text's source; `start` and `end` are positions in the text, the end exclusive. */
export interface Citation {
  readonly source: 'web' | 'file';
  readonly start: number;
  readonly end: number;
}

export type Finish = 'stop' | 'length' | 'tool-calls' | 'refusal' | 'stop-sequence';

export interface AnswerUsage {
  /** Including cached tokens and cache writes. */
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly cacheWriteTokens: number;
  /** Including reasoning. */
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}

export interface Answer {
  readonly parts: readonly AnswerPart[];
  readonly finish: Finish;
  readonly stopSequence: string | null;
  readonly usage: AnswerUsage;
}

/** The one page and the one file that hosted searches find. */
export const FOUND_PAGE = { url: 'https://example.org/a', title: 'An example page' };
export const FOUND_FILE = { id: 'file_simulated', name: 'example.pdf', text: 'An example passage.' };
