import type { CallerTool, Prompt, ToolChoice } from '../answer/prompt.ts';
import { asList, asNumber, asObject, asText, isGiven, type JsonObject } from '../json-value.ts';
import { contentText, countInputTokens } from '../tokens.ts';

/** Text of the last user message. */
export const lastUserText = (messages: unknown): string => {
  const last = asList(messages).findLast((message) => asObject(message).role === 'user');
  return contentText(asObject(last).content);
};

const toolResultsOf = (messages: readonly unknown[]): string[] => {
  const start = messages.findLastIndex((message) => asObject(message).role !== 'tool');
  return messages.slice(start + 1).map((message) => contentText(asObject(message).content));
};

const toolsOf = (tools: unknown): CallerTool[] =>
  asList(tools).map((entry) => {
    const { type, function: definition, custom } = asObject(entry);
    const { name, description, parameters } = asObject(type === 'custom' ? custom : definition);
    const schema = type === 'custom' ? null : asObject(parameters);
    return { name: asText(name), description: asText(description), schema };
  });

const toolChoiceOf = (choice: unknown): ToolChoice => {
  if (choice === 'none' || choice === 'required') return { mode: choice };
  const { function: named, custom, allowed_tools: allowed } = asObject(choice);
  if (isGiven(allowed)) return { mode: asObject(allowed).mode === 'required' ? 'required' : 'auto' };
  const name = asText(asObject(named ?? custom).name);
  return name ? { mode: 'named', name } : { mode: 'auto' };
};

const formatOf = ({ type, json_schema: schema }: JsonObject): Prompt['format'] => {
  if (type === 'json_object') return 'object';
  return type === 'json_schema' ? asObject(asObject(schema).schema) : null;
};

/** A Chat Completions request as the simulated model's input. */
export const readChatPrompt = (body: JsonObject): Prompt => {
  const messages = asList(body.messages);
  const { stop } = body;
  return {
    model: asText(body.model),
    userText: lastUserText(messages),
    toolResults: toolResultsOf(messages),
    inputTokens: countInputTokens(messages, body.tools),
    tools: toolsOf(body.tools),
    hosted: { webSearch: false, fileSearch: false },
    toolChoice: toolChoiceOf(body.tool_choice),
    parallelCalls: body.parallel_tool_calls !== false,
    maxTokens: asNumber(body.max_completion_tokens) ?? asNumber(body.max_tokens),
    reasons: isGiven(body.reasoning_effort) && body.reasoning_effort !== 'none',
    format: formatOf(asObject(body.response_format)),
    stopSequences: typeof stop === 'string' ? [stop] : asList(stop).map(asText),
  };
};
