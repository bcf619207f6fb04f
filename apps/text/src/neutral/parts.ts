import type { REASONING_VENDORS } from '@gateway/contracts/quirks';
import type { Path } from '../wire/path.ts';
import type { CallItem } from './tool.ts';

/**
 * Whose reasoning a payload is: it may only go back to its own kind. `open` is an open-weight model's plain trace,
 * which has text and no seal.
 */
export type Vendor = (typeof REASONING_VENDORS)[number];

/**
 * The part of an answer that a signature of Google's is of: the call of this index among its calls, its text, an empty text
 * at its end, the thoughts that are shown with it; `whole`: it is all of a part, as JSON.
 */
export type SealPlace = number | 'text' | 'end' | 'thought' | 'whole';

/** What only the vendor can read: a signature over shown thinking, hidden thinking, or an encrypted reasoning item. */
export interface OpaquePayload {
  readonly vendor: Vendor;
  /** The credential scope that the payload is bound to (OpenAI's organisation); undefined where it is unknown or free. */
  readonly scope?: string | undefined;
  readonly kind: 'signature' | 'redacted' | 'encrypted' | 'trace';
  readonly data: string;
  readonly place?: SealPlace | undefined;
}

interface Located {
  /** Where the caller wrote it. Absent in replies. */
  readonly at?: Path | undefined;
}

/** A mark on a span of text. Offsets count UTF-16 units within its own text part, end exclusive. */
export type Citation =
  | {
      readonly type: 'url';
      readonly url: string;
      readonly title: string;
      readonly start: number;
      readonly end: number;
      /** Anthropic's `encrypted_index`, where Claude made the citation. */
      readonly encryptedIndex?: string | undefined;
      readonly citedText?: string | undefined;
    }
  | { readonly type: 'file'; readonly fileId: string; readonly filename: string; readonly index: number }
  /** A place in a document of the request, in characters, pages or blocks. */
  | {
      readonly type: 'document';
      /** Which of the request's documents, from 0. */
      readonly document: number;
      readonly title: string | null;
      readonly unit: 'character' | 'page' | 'block';
      readonly start: number;
      readonly end: number;
      readonly citedText: string;
    };

export interface TextPart extends Located {
  readonly type: 'text';
  readonly text: string;
  readonly citations?: readonly Citation[] | undefined;
  /** Entries `{token, logprob, bytes, top_logprobs}`, the same in both of OpenAI's protocols. */
  readonly logprobs?: readonly unknown[] | undefined;
}

/** Bytes by value, by address, or by a file id that only its own provider knows. */
export type MediaSource =
  | { readonly type: 'base64'; readonly mediaType: string; readonly data: string }
  | { readonly type: 'url'; readonly url: string }
  | { readonly type: 'file'; readonly fileId: string };

export interface ImagePart extends Located {
  readonly type: 'image';
  readonly source: MediaSource;
  readonly detail?: string | undefined;
}

export interface DocumentPart extends Located {
  readonly type: 'document';
  readonly source:
    | MediaSource
    | { readonly type: 'text'; readonly text: string }
    | { readonly type: 'content'; readonly parts: readonly (TextPart | ImagePart)[] };
  readonly title?: string | undefined;
  readonly context?: string | undefined;
  /** The caller wants the answer to cite this document. */
  readonly citations?: boolean | undefined;
}

export interface SearchResultPart extends Located {
  readonly type: 'search-result';
  readonly source: string;
  readonly title: string;
  readonly texts: readonly string[];
}

export interface AudioPart extends Located {
  readonly type: 'audio';
  readonly data: string;
  readonly format: string;
}

export interface ToolCallPart extends Located {
  readonly type: 'tool-call';
  readonly id: string;
  readonly name: string;
  /** JSON text as the model wrote it; for a custom tool its free input. */
  readonly arguments: string;
  readonly custom?: boolean | undefined;
  readonly namespace?: string | undefined;
  /** In replies: what the caller gets instead. */
  readonly item?: CallItem | undefined;
}

export type ResultContent = TextPart | ImagePart | DocumentPart | SearchResultPart;

export interface ToolResultPart extends Located {
  readonly type: 'tool-result';
  readonly callId: string;
  readonly content: readonly ResultContent[];
  readonly isError?: boolean | undefined;
  readonly custom?: boolean | undefined;
}

export interface ReasoningPart extends Located {
  readonly type: 'reasoning';
  /** A summary may have several parts; a trace has one. Empty where the vendor shows nothing. */
  readonly texts: readonly string[];
  readonly form: 'summary' | 'trace';
  readonly payload?: OpaquePayload | undefined;
}

export interface RefusalPart extends Located {
  readonly type: 'refusal';
  readonly text: string;
}

export interface SearchSource {
  readonly url: string;
  readonly title?: string | undefined;
}

/** A web search that the upstream ran by itself. */
export interface WebSearchPart extends Located {
  readonly type: 'web-search';
  readonly status: 'completed' | 'failed';
  readonly queries: readonly string[];
  readonly sources: readonly SearchSource[];
}

/** History that belongs to one provider's hosted tools. It is never translated to another protocol. */
export interface ForeignPart extends Located {
  readonly type: 'foreign';
  readonly name: string;
}

export type Part =
  | TextPart
  | ImagePart
  | DocumentPart
  | SearchResultPart
  | AudioPart
  | ToolCallPart
  | ToolResultPart
  | ReasoningPart
  | RefusalPart
  | WebSearchPart
  | ForeignPart;

/** What a model's answer can be made of. */
export type ReplyPart = TextPart | ToolCallPart | ReasoningPart | RefusalPart | WebSearchPart;
