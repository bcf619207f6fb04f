import type { CallerTool, Prompt, ToolChoice } from '../answer/prompt.ts';
import { asList, asNumber, asObject, asText, isGiven, type JsonObject } from '../json-value.ts';
import { contentText, countInputTokens } from '../tokens.ts';

/** Text of the last user message. */
export const lastUserText = (input: unknown): string => {
  if (typeof input === 'string') return input;
  const last = asList(input).findLast((item) => asObject(item).role === 'user');
  return contentText(asObject(last).content);
};

const toolResultsOf = (items: readonly JsonObject[]): string[] => {
  const results: string[] = [];
  for (const item of items.toReversed()) {
    if (item.type !== 'function_call_output' && item.type !== 'custom_tool_call_output') break;
    results.unshift(contentText(item.output));
  }
  return results;
};

const toolsOf = (tools: readonly JsonObject[]): CallerTool[] =>
  tools.flatMap((tool): CallerTool[] => {
    const named = { name: asText(tool.name), description: asText(tool.description) };
    if (tool.type === 'function') return [{ ...named, schema: asObject(tool.parameters) }];
    return tool.type === 'custom' ? [{ ...named, schema: null }] : [];
  });

const MODES = ['auto', 'none', 'required'] as const;

const toolChoiceOf = (choice: unknown): ToolChoice => {
  const { type, name, mode } = asObject(choice);
  const plain = MODES.find((known) => known === (type === 'allowed_tools' ? mode : choice));
  if (plain || !isGiven(choice) || type === 'allowed_tools') return { mode: plain ?? 'auto' };
  return { mode: 'named', name: type === 'function' || type === 'custom' ? asText(name) : asText(type) };
};

const allowed = (tools: readonly CallerTool[], choice: unknown): readonly CallerTool[] => {
  const { type, tools: listed } = asObject(choice);
  if (type !== 'allowed_tools') return tools;
  const names = asList(listed).map((tool) => asObject(tool).name);
  return tools.filter(({ name }) => names.includes(name));
};

const formatOf = ({ type, schema }: JsonObject): Prompt['format'] => {
  if (type === 'json_object') return 'object';
  return type === 'json_schema' ? asObject(schema) : null;
};

/** A Responses request as the simulated model's input; `context` is everything before and in its input. */
export const readResponsesPrompt = (body: JsonObject, context: readonly JsonObject[]): Prompt => {
  const tools = asList(body.tools).map(asObject);
  const { effort, summary } = asObject(body.reasoning);
  return {
    model: asText(body.model),
    userText: lastUserText(body.input),
    toolResults: toolResultsOf(context),
    inputTokens: countInputTokens(body.instructions, context, body.tools),
    tools: allowed(toolsOf(tools), body.tool_choice),
    hosted: {
      webSearch: tools.some(({ type }) => asText(type).startsWith('web_search')),
      fileSearch: tools.some(({ type }) => type === 'file_search'),
    },
    toolChoice: toolChoiceOf(body.tool_choice),
    parallelCalls: body.parallel_tool_calls !== false,
    maxTokens: asNumber(body.max_output_tokens),
    reasons: (isGiven(effort) && effort !== 'none') || isGiven(summary),
    format: formatOf(asObject(asObject(body.text).format)),
    stopSequences: [],
  };
};
