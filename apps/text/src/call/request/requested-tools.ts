import { builtInToolOf } from '@gateway/contracts/tools/built-in-tools';
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
  protocol: 'responses' | 'messages',
  { tools, tool_choice: choice }: TextBody,
): readonly RequestedTool[] {
  const requested: RequestedTool[] = [];
  const add = (type: string, path: (string | number)[]) => {
    const family = builtInToolOf(protocol, type);
    if (family !== null) requested.push({ type, family, path });
  };
  for (const [index, tool] of (tools ?? []).entries()) if (tool.type) add(tool.type, ['tools', index]);
  if (typeof choice === 'object' && choice !== null && !CHOICE_FORMS.has(choice.type))
    add(choice.type, ['tool_choice']);
  return requested;
}
