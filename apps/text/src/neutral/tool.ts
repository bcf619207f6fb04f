import type { JsonObject } from '../wire/json-object.ts';
import type { Path } from '../wire/path.ts';

/** Tools of the Responses protocol whose calls are items of types of their own, and are run by the caller's program. */
export type KnownCall =
  | 'apply_patch'
  | 'shell'
  | 'local_shell'
  | 'computer'
  | 'computer_use'
  | 'computer_use_preview';

/** A call as an item of such a type: all of it but its ids and its status. */
export interface CallItem {
  readonly type: string;
  readonly members: JsonObject;
}

export interface FunctionTool {
  readonly type: 'function';
  readonly name: string;
  readonly namespace?: string | undefined;
  readonly description?: string | undefined;
  /** JSON Schema of the arguments; undefined where the caller gave none. */
  readonly parameters?: JsonObject | undefined;
  /** Undefined where the caller did not set it. */
  readonly strict?: boolean | undefined;
  /** What the caller gave instead of a function. */
  readonly known?: KnownCall | undefined;
  readonly at: Path;
}

/** A tool whose input is free text, perhaps in a grammar. */
export interface CustomTool {
  readonly type: 'custom';
  readonly name: string;
  readonly namespace?: string | undefined;
  readonly description?: string | undefined;
  readonly grammar?: { readonly syntax: string; readonly definition: string } | undefined;
  readonly at: Path;
}

export interface WebSearchTool {
  readonly type: 'web-search';
  /** What the caller called it: `web_search_preview`, `web_search_20250305`. */
  readonly name: string;
  readonly allowedDomains?: readonly string[] | undefined;
  readonly blockedDomains?: readonly string[] | undefined;
  readonly userLocation?: JsonObject | undefined;
  readonly contextSize?: string | undefined;
  readonly maxUses?: number | undefined;
  readonly at: Path;
}

/** A built-in tool that no other protocol can request. */
export interface HostedTool {
  readonly type: 'hosted';
  readonly name: string;
  readonly at: Path;
}

export type Tool = FunctionTool | CustomTool | WebSearchTool | HostedTool;

export interface NamedTool {
  readonly name: string;
  readonly namespace?: string | undefined;
  readonly type: 'function' | 'custom' | 'hosted';
}

export type ToolChoice =
  | { readonly type: 'auto' | 'none' | 'required' }
  | { readonly type: 'tool'; readonly tool: NamedTool }
  | { readonly type: 'allowed'; readonly mode: 'auto' | 'required'; readonly tools: readonly NamedTool[] };
