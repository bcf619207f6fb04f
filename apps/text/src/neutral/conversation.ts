import type { ModerationWire } from '@gateway/contracts/openai/moderation-wire';
import type { Effort } from '@gateway/contracts/quirks';
import type { JsonObject } from '../wire/json-object.ts';
import type { Path } from '../wire/path.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';
import type { Part, TextPart } from './parts.ts';
import type { OtherNames } from './scalar-paths.ts';
import type { Tool, ToolChoice } from './tool.ts';

export interface Turn {
  readonly role: 'user' | 'assistant' | 'system';
  readonly parts: readonly Part[];
  readonly at: Path;
}

export interface Sampling {
  readonly temperature?: number | undefined;
  readonly topP?: number | undefined;
  readonly topK?: number | undefined;
  readonly presencePenalty?: number | undefined;
  readonly frequencyPenalty?: number | undefined;
  readonly seed?: number | undefined;
}

export type OutputFormat =
  | { readonly type: 'text' }
  /** Any JSON object. */
  | { readonly type: 'object' }
  | {
      readonly type: 'schema';
      readonly name?: string | undefined;
      readonly description?: string | undefined;
      readonly schema: JsonObject;
      /** Undefined where the caller did not set it. */
      readonly strict?: boolean | undefined;
    };

/** How much the model shall think, and how much of that the caller wants to see. Undefined: the caller did not set it. */
export interface ReasoningControl {
  readonly mode?: 'off' | 'adaptive' | 'manual' | 'between-tools' | undefined;
  readonly effort?: Effort | undefined;
  readonly budgetTokens?: number | undefined;
  /** `omitted`: thinking without showing it. A level where the caller named one. */
  readonly summary?: 'omitted' | 'auto' | 'concise' | 'detailed' | undefined;
}

/** A member that exists in the caller's protocol alone. Class D is left out and reported, class E refused. */
export interface Untranslatable {
  readonly path: Path;
  readonly loss: 'D' | 'E';
  readonly reason: string;
  /** It marks that what comes before it is to be kept in a prompt cache, and for how long. */
  readonly cacheMark?: '5m' | '1h' | undefined;
}

/**
 * What a caller requests of a text model, free of any protocol. Decoders make it, encoders read it; members that the
 * gateway keeps for itself (`store`, `previous_response_id`, `metadata`) are not in it.
 */
export interface Conversation {
  readonly source: TextProtocol;
  /** Instructions before the first turn, one part per block. */
  readonly system: readonly TextPart[];
  readonly turns: readonly Turn[];
  readonly tools: readonly Tool[];
  readonly toolChoice?: ToolChoice | undefined;
  readonly parallelToolCalls?: boolean | undefined;
  readonly sampling: Sampling;
  readonly stopSequences: readonly string[];
  readonly maxOutputTokens?: number | undefined;
  readonly outputFormat?: OutputFormat | undefined;
  readonly verbosity?: string | undefined;
  readonly reasoning: ReasoningControl;
  /** The number of alternatives per token, where the caller wants token probabilities. */
  readonly logprobs?: number | undefined;
  readonly userId?: string | undefined;
  readonly serviceTier?: string | undefined;
  /** As both of OpenAI's protocols have it. */
  readonly moderation?: ModerationWire | undefined;
  readonly promptCacheKey?: string | undefined;
  readonly promptCacheRetention?: string | undefined;
  readonly maxToolCalls?: number | undefined;
  readonly stream: boolean;
  readonly untranslatable: readonly Untranslatable[];
  /** Where the caller wrote what it wrote under another name than the usual one: `user` for `safety_identifier`. */
  readonly otherNames: OtherNames;
}
