import type { JsonObject } from '../json-value.ts';

/** A tool that the caller runs. */
export interface CallerTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of its arguments; null for a custom tool, which takes free text. */
  readonly schema: JsonObject | null;
}

export type ToolChoice =
  | { readonly mode: 'auto' | 'none' | 'required' }
  | { readonly mode: 'named'; readonly name: string };

/** The simulated model's input, from any protocol. */
export interface Prompt {
  readonly model: string;
  /** Text of the last user message, directives included. */
  readonly userText: string;
  /** Outputs of tools, when the last turn consists of them. */
  readonly toolResults: readonly string[];
  readonly inputTokens: number;
  readonly tools: readonly CallerTool[];
  /** Provider-run tools that the request offers. */
  readonly hosted: { readonly webSearch: boolean; readonly fileSearch: boolean };
  readonly toolChoice: ToolChoice;
  readonly parallelCalls: boolean;
  /** Bound on reasoning and visible output together; null is unbounded. */
  readonly maxTokens: number | null;
  readonly reasons: boolean;
  /** Structured output: a JSON Schema, or `object` for any JSON object. */
  readonly format: JsonObject | 'object' | null;
  readonly stopSequences: readonly string[];
}
