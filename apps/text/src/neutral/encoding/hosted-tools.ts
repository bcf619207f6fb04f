import { builtInToolOf, offersTool } from '@gateway/contracts/tools/built-in-tools';
import type { Conversation } from '../conversation.ts';
import { type Losses, refuseParameter, refuseTool } from '../losses.ts';
import { pathsOf } from '../scalar-paths.ts';
import type { Target } from '../target.ts';
import type { Tool } from '../tool.ts';

const isBuiltIn = (tool: Tool): tool is Tool & { type: 'web-search' | 'hosted' } =>
  tool.type === 'web-search' || tool.type === 'hosted';

/** The built-in tool that a name means: `web_search_preview` and `web_search_20250305` are both web search. */
const family = (name: string): string =>
  builtInToolOf('responses', name) ?? builtInToolOf('messages', name) ?? name;

/** Whether the tool choice would be left without what it requires. */
function isNeeded(tool: Tool & { name: string }, { toolChoice, tools }: Conversation): boolean {
  if (toolChoice?.type === 'tool') return family(toolChoice.tool.name) === family(tool.name);
  const mustCall =
    toolChoice?.type === 'required' || (toolChoice?.type === 'allowed' && toolChoice.mode === 'required');
  return mustCall && tools.every(isBuiltIn);
}

/**
 * The caller's tools that this upstream can get. A built-in tool that it lacks refuses the request, unless the
 * configuration leaves such tools out and the tool choice does not depend on it.
 * @throws GatewayError `unsupported_tool`
 */
export function availableTools(
  conversation: Conversation,
  target: Target,
  canSay: (tool: Tool & { type: 'web-search' | 'hosted' }) => boolean,
  losses: Losses,
): Tool[] {
  const available = conversation.tools.filter((tool) => {
    if (!isBuiltIn(tool)) return true;
    if (canSay(tool) && offersTool(target.builtInTools, family(tool.name))) return true;
    if (!target.dropUnavailableTools || isNeeded(tool, conversation)) {
      refuseTool(tool.at, `Tool '${tool.name}' is not available for this model.`);
    }
    losses.drop(tool.at, 'the built-in tool is not available for this model');
    return false;
  });
  refuseLostChoice(conversation, available);
  return available;
}

/** The tool that the choice names may have been left out when the request was read. */
function refuseLostChoice({ toolChoice, ...conversation }: Conversation, available: readonly Tool[]): void {
  if (toolChoice?.type !== 'tool' || toolChoice.tool.type === 'hosted') return;
  const { name, namespace } = toolChoice.tool;
  const isOffered = available.some(
    (tool) =>
      (tool.type === 'function' || tool.type === 'custom') &&
      tool.name === name &&
      tool.namespace === namespace,
  );
  if (isOffered) return;
  refuseParameter(pathsOf(conversation).toolChoice, `Tool '${name}' is not available for this model.`);
}
