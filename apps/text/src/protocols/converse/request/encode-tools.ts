import type { Encoder } from '../../../neutral/encoding/encoder.ts';
import { customAsFunction, objectParameters } from '../../../neutral/encoding/function-tools.ts';
import { availableTools } from '../../../neutral/encoding/hosted-tools.ts';
import { selectTools, type ToolSelection } from '../../../neutral/encoding/tool-selection.ts';
import { pathsOf } from '../../../neutral/scalar-paths.ts';
import type { Tool } from '../../../neutral/tool.ts';
import type { CachePoints } from './cache-points.ts';
import type { Block } from './documents.ts';

/** The tools and the choice among them that this upstream gets. Nova's web search is a tool of the system's, by a name. */
export function selectConverseTools({ conversation, target, losses }: Encoder): ToolSelection {
  const canSay = (tool: Tool) => tool.type === 'web-search' && Boolean(target.quirks.webSearch);
  return selectTools(conversation, availableTools(conversation, target, canSay, losses));
}

/** Undefined where the request needs none: a history with calls needs the tools that it calls. */
export function encodeToolConfig(
  { tools, choice }: ToolSelection,
  encoder: Encoder,
  points: CachePoints,
): object | undefined {
  const { conversation, losses } = encoder;
  const history = calledTools(encoder);
  reportParallel(encoder, tools);
  // There is no choice of none. Without calls before, the model does not have to see the tools.
  const isNone = choice?.type === 'none';
  if (isNone && history.length === 0) return undefined;
  if (isNone && tools.length > 0)
    losses.drop(
      pathsOf(conversation).toolChoice,
      'calls cannot be forbidden there once there have been some',
    );
  const specs = tools.flatMap((tool) => {
    const spec = encodeTool(tool, encoder);
    return spec === null ? [] : [spec, ...points.after(tool.at, 'tools')];
  });
  if (specs.length === 0) return history.length === 0 ? undefined : { tools: history };
  const toolChoice = encodeChoice(choice, encoder);
  return { tools: specs, ...(toolChoice && { toolChoice }) };
}

/** Those that the history calls, as far as it shows them. */
function calledTools({ conversation, names }: Encoder): Block[] {
  const called = conversation.turns.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.type === 'tool-call' ? [names.upstreamName(part)] : [])),
  );
  const inputSchema = { json: { type: 'object' } };
  return [...new Set(called)].map((name) => ({ toolSpec: { name, inputSchema } }));
}

function encodeTool(tool: Tool, { names, target, losses }: Encoder): Block | null {
  switch (tool.type) {
    case 'function': {
      const { strictTools } = target.quirks;
      if (tool.strict && !strictTools)
        losses.drop([...tool.at, 'strict'], 'strict tools are not known to this upstream');
      return toolSpec(names.define(tool, false), tool.description, objectParameters(tool), {
        ...(tool.strict && strictTools && { strict: true }),
      });
    }
    case 'custom': {
      const { description, parameters } = customAsFunction(tool);
      if (tool.grammar)
        losses.drop([...tool.at, 'format'], 'the grammar is described to the model and not enforced');
      return toolSpec(names.define(tool, true), description, parameters, {});
    }
    case 'web-search':
      return { systemTool: { name: target.quirks.webSearch } };
    case 'hosted':
      return null;
  }
}

const toolSpec = (name: string, description: string | undefined, json: object, more: object): Block => ({
  toolSpec: { name, ...(description?.trim() && { description }), inputSchema: { json }, ...more },
});

/** Undefined where the default is the same. */
function encodeChoice(choice: ToolSelection['choice'], { names, target }: Encoder): object | undefined {
  // Models that take no demand refuse the member.
  if (!target.quirks.demandedCalls) return undefined;
  switch (choice?.type) {
    case 'auto':
      return { auto: {} };
    case 'required':
      return { any: {} };
    case 'tool':
      return choice.tool.type === 'hosted'
        ? { any: {} }
        : { tool: { name: names.upstreamName(choice.tool) } };
    default:
      return undefined;
  }
}

function reportParallel({ conversation, losses }: Encoder, tools: readonly Tool[]): void {
  if (conversation.parallelToolCalls === false && tools.length > 0)
    losses.drop(pathsOf(conversation).parallelToolCalls, 'not known to this upstream');
}
