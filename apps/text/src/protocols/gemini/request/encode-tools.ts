import type { Encoder } from '../../../neutral/encoding/encoder.ts';
import { customAsFunction, objectParameters } from '../../../neutral/encoding/function-tools.ts';
import { availableTools } from '../../../neutral/encoding/hosted-tools.ts';
import { selectTools, type ToolSelection } from '../../../neutral/encoding/tool-selection.ts';
import { refuseTool } from '../../../neutral/losses.ts';
import { pathsOf } from '../../../neutral/scalar-paths.ts';
import type { CustomTool, FunctionTool, Tool, WebSearchTool } from '../../../neutral/tool.ts';
import type { JsonObject } from '../../../wire/json-object.ts';
import { openApiSchema } from './open-api-schema.ts';

const WEB_SEARCH_TOOL = 'googleSearch';

/** The member by which search is requested; null where the model has none. */
const webSearchMember = ({ target }: Encoder): string | null =>
  target.quirks.webSearch === undefined ? WEB_SEARCH_TOOL : target.quirks.webSearch;

export function selectGeminiTools(encoder: Encoder): ToolSelection {
  const { conversation, target, losses } = encoder;
  const canSay = (tool: Tool) => tool.type === 'web-search' && webSearchMember(encoder) !== null;
  return selectTools(conversation, availableTools(conversation, target, canSay, losses));
}

/** Functions are one entry of the list, and each tool of Google's is another. */
export function encodeTools(tools: readonly Tool[], encoder: Encoder): object[] {
  const functions = tools.flatMap((tool) => {
    if (tool.type === 'function') return [encodeFunction(tool, encoder)];
    return tool.type === 'custom' ? [encodeCustom(tool, encoder)] : [];
  });
  const search = tools.find((tool): tool is WebSearchTool => tool.type === 'web-search');
  return [
    ...(functions.length > 0 ? [{ functionDeclarations: functions }] : []),
    ...(search ? [encodeSearch(search, encoder)] : []),
  ];
}

function encodeFunction(tool: FunctionTool, encoder: Encoder): object {
  const { names, target, losses } = encoder;
  if (tool.strict && !target.quirks.strictTools)
    losses.drop([...tool.at, 'strict'], 'strict tools are not known to this upstream');
  return {
    name: names.define(tool, false),
    ...(tool.description && { description: tool.description }),
    ...parametersOf(objectParameters(tool), tool, encoder),
  };
}

function encodeCustom(tool: CustomTool, encoder: Encoder): object {
  if (tool.grammar)
    encoder.losses.drop([...tool.at, 'format'], 'the grammar is described to the model and not enforced');
  const { description, parameters } = customAsFunction(tool);
  const name = encoder.names.define(tool, true);
  return { name, ...(description && { description }), ...parametersOf(parameters, tool, encoder) };
}

/** A function without parameters has no schema: one without properties is refused in the older form. */
function parametersOf(schema: JsonObject, tool: Pick<Tool, 'at'>, { target, losses }: Encoder): object {
  if (takesNothing(schema)) return {};
  if (target.quirks.jsonSchema) return { parametersJsonSchema: schema };
  const { schema: parameters, lost } = openApiSchema(schema);
  if (lost.length > 0)
    losses.drop([...tool.at, 'parameters'], `not known to this upstream: ${lost.join(', ')}`);
  return { parameters };
}

const SAYS_NOTHING: ReadonlySet<string> = new Set([
  'type',
  'properties',
  'required',
  'additionalProperties',
  '$schema',
  'title',
  'description',
]);

const takesNothing = ({ properties, additionalProperties, ...schema }: JsonObject): boolean =>
  Object.keys(Object(properties)).length === 0 &&
  (additionalProperties ?? false) === false &&
  Object.keys(schema).every((name) => SAYS_NOTHING.has(name));

/** A caller relies on the limits of a search, and Gemini has none. */
function encodeSearch(tool: WebSearchTool, encoder: Encoder): object {
  const { losses, conversation } = encoder;
  if (tool.allowedDomains?.length || tool.blockedDomains?.length)
    refuseTool(tool.at, `Tool '${tool.name}' cannot be limited to domains by the model that would answer.`);
  if (tool.userLocation) losses.drop([...tool.at, 'user_location'], 'a search has no place there');
  if (tool.contextSize && tool.contextSize !== 'medium')
    losses.drop([...tool.at, 'search_context_size'], 'search results have no such size there');
  if (tool.maxUses !== undefined) losses.drop([...tool.at, 'max_uses'], 'searches cannot be counted there');
  if (conversation.maxToolCalls !== undefined)
    losses.drop(pathsOf(conversation).maxToolCalls, 'searches cannot be counted there');
  return { [webSearchMember(encoder) ?? WEB_SEARCH_TOOL]: {} };
}

const MODES = { auto: 'AUTO', required: 'ANY', none: 'NONE' } as const;

/** Undefined where the default is the same. */
export function encodeToolConfig({ choice, tools }: ToolSelection, encoder: Encoder): object | undefined {
  const { conversation, target, losses, names } = encoder;
  const functions = tools.filter((tool) => tool.type === 'function' || tool.type === 'custom');
  if (conversation.parallelToolCalls === false && tools.length > 0)
    losses.drop(pathsOf(conversation).parallelToolCalls, 'calls cannot be limited to one there');
  if (functions.length === 0) return undefined;
  // Beside functions, Google's own tools have to be shown with what they did.
  const shows = tools.length > functions.length ? { includeServerSideToolInvocations: true } : {};
  const isStrict =
    target.quirks.strictTools && functions.some((tool) => tool.type === 'function' && tool.strict);
  if (choice?.type === 'tool') {
    if (choice.tool.type === 'hosted')
      refuseTool(
        pathsOf(conversation).toolChoice,
        `Tool '${choice.tool.name}' cannot be demanded from the model that would answer.`,
      );
    const allowedFunctionNames = [names.upstreamName(choice.tool)];
    return { functionCallingConfig: { mode: 'ANY', allowedFunctionNames }, ...shows };
  }
  // Calls that are demanded follow their schema by themselves.
  const mode = isStrict && choice?.type !== 'required' && choice?.type !== 'none' ? 'VALIDATED' : null;
  const wanted = mode ?? (choice === undefined || choice.type === 'auto' ? null : MODES[choice.type]);
  const config = { ...(wanted !== null && { functionCallingConfig: { mode: wanted } }), ...shows };
  return Object.keys(config).length === 0 ? undefined : config;
}
