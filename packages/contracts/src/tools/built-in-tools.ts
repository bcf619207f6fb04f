import { lookUp } from '../look-up.ts';

/**
 * Built-in tools: those that the provider runs by itself, such as web search. The channel decides whether a model has
 * one, so the configuration lists them (`builtInTools`), by family: `web_search` there also means
 * `web_search_preview`, `web_search_2025_08_26` and `web_search_20250305`, in both protocols and in both directions.
 */

/** A version in a tool's type: `_2025_03_11` (OpenAI), `_20250305` (Anthropic). */
const VERSION = /_(?:\d{4}_\d{2}_\d{2}|\d{8})$/;

/** Older names of a family, and other names in use. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  web_search_preview: 'web_search',
  tool_search_tool_regex: 'tool_search_tool',
  tool_search_tool_bm25: 'tool_search_tool',
};

/** Families whose calls the caller's own program runs; every model may get them. */
const RUN_BY_CALLER: Readonly<Record<'responses' | 'messages', ReadonlySet<string>>> = {
  responses: new Set([
    'function',
    'custom',
    'namespace',
    'local_shell',
    'shell',
    'apply_patch',
    'tool_search',
    'computer',
    'computer_use',
    'computer_use_preview',
    'programmatic_tool_calling',
  ]),
  messages: new Set([
    'custom',
    'bash',
    'text_editor',
    'memory',
    'computer',
    'computer_toolset',
    'browser_toolset',
  ]),
};

/** The family that a tool's type belongs to. */
export const familyOf = (type: string): string => {
  const name = type.replace(VERSION, '');
  return lookUp(OTHER_NAMES, name) ?? name;
};

/** The built-in tool for a `tools` entry of this type; null if the caller runs the calls. */
export function builtInToolOf(protocol: 'responses' | 'messages', type: string): string | null {
  const family = familyOf(type);
  return RUN_BY_CALLER[protocol].has(family) ? null : family;
}

/** Whether a route with this list of built-in tools offers a family. */
export const offersTool = (builtInTools: 'any' | readonly string[], family: string): boolean =>
  builtInTools === 'any' || builtInTools.some((listed) => familyOf(listed) === family);
