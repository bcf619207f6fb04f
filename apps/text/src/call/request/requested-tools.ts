import { lookUp } from '@gateway/contracts/look-up';
import { builtInToolOf } from '@gateway/contracts/tools/built-in-tools';
import { isObject, textAt } from '../../wire/json-object.ts';
import type { TextProtocol } from '../../wire/text-protocol.ts';
import type { TextBody } from './text-endpoint.ts';

/** A built-in tool that a request names, and where. */
export interface RequestedTool {
  /** As the caller wrote it. */
  readonly type: string;
  readonly family: string;
  readonly path: (string | number)[];
}

/** Types of `tool_choice` that define how to choose and are no tool themselves. */
const CHOICE_FORMS = new Set(['allowed_tools', 'auto', 'any', 'none', 'tool']);

/** The built-in tools of a request, in their order. */
export function requestedTools(
  protocol: TextProtocol,
  { tools, tool_choice: choice }: TextBody,
): readonly RequestedTool[] {
  // Chat Completions has no built-in tools: its web search is a member.
  if (protocol === 'chat') return [];
  if (protocol === 'gemini') return googleTools(tools);
  const requested: RequestedTool[] = [];
  const add = (type: string, path: (string | number)[]) => {
    const family = builtInToolOf(protocol, type);
    if (family !== null) requested.push({ type, family, path });
  };
  for (const [index, tool] of (Array.isArray(tools) ? tools : []).entries()) {
    const type = isObject(tool) ? textAt(tool, 'type') : null;
    if (type) add(type, ['tools', index]);
  }
  const chosen = isObject(choice) ? textAt(choice, 'type') : null;
  if (chosen !== null && !CHOICE_FORMS.has(chosen)) add(chosen, ['tool_choice']);
  return requested;
}

/** The families of Google's tools, where they have another name; each tool is a member of an entry. */
const GOOGLE_FAMILIES: Readonly<Record<string, string>> = {
  googleSearch: 'web_search',
  google_search: 'web_search',
  googleSearchRetrieval: 'web_search',
  google_search_retrieval: 'web_search',
  codeExecution: 'code_execution',
  urlContext: 'url_context',
  googleMaps: 'google_maps',
  fileSearch: 'file_search',
  computerUse: 'computer_use',
};

const FUNCTIONS: ReadonlySet<string> = new Set(['functionDeclarations', 'function_declarations']);

/** The family of a member of Google's list of tools; null for functions, which the caller runs. */
export const googleFamilyOf = (member: string): string | null =>
  FUNCTIONS.has(member) ? null : (lookUp(GOOGLE_FAMILIES, member) ?? member);

const googleTools = (tools: unknown): readonly RequestedTool[] =>
  (Array.isArray(tools) ? tools : [tools]).flatMap((entry, index) =>
    Object.keys(isObject(entry) ? entry : {}).flatMap((type) => {
      const family = googleFamilyOf(type);
      return family === null ? [] : [{ type, family, path: ['tools', index, type] }];
    }),
  );
