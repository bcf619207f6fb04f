import type { Prompt, ToolChoice } from '../answer/prompt.ts';
import { asList, asNumber, asObject, asText, isObject, type JsonObject } from '../json-value.ts';
import { contentText, countInputTokens } from '../tokens.ts';

/** Text of the last user message that has any. */
export const lastUserText = (messages: unknown): string => {
  const last = asList(messages).findLast((message) => {
    const { role, content } = asObject(message);
    return role === 'user' && contentText(content) !== '';
  });
  return contentText(asObject(last).content);
};

const toolResultsOf = (messages: readonly unknown[]): string[] =>
  asList(asObject(messages.at(-1)).content)
    .map(asObject)
    .filter(({ type }) => type === 'tool_result')
    .map(({ content }) => contentText(content));

const toolChoiceOf = ({ type, name }: JsonObject): ToolChoice => {
  if (type === 'tool') return { mode: 'named', name: asText(name) };
  if (type === 'any') return { mode: 'required' };
  return { mode: type === 'none' ? 'none' : 'auto' };
};

/** Tools that the caller runs: those with a schema, and Anthropic's own client tools (`bash_…`). */
const SERVER_TOOLS = /^(web_search|web_fetch|code_execution|tool_search)_/;

/** A Messages request as the simulated model's input. */
export const readMessagesPrompt = (body: JsonObject): Prompt => {
  const tools = asList(body.tools).map(asObject);
  const messages = asList(body.messages);
  const choice = asObject(body.tool_choice);
  // The older member, under a beta, and the present one.
  const format = asObject(body.output_config).format ?? body.output_format;
  const thinking = asText(asObject(body.thinking).type);
  return {
    model: asText(body.model),
    userText: lastUserText(messages),
    toolResults: toolResultsOf(messages),
    inputTokens: countInputTokens(body.system, messages, body.tools),
    tools: tools
      .filter(({ type }) => !SERVER_TOOLS.test(asText(type)))
      .map(({ name, description, input_schema: schema }) => ({
        name: asText(name),
        description: asText(description),
        schema: asObject(schema),
      })),
    hosted: {
      webSearch: tools.some(({ type }) => asText(type).startsWith('web_search_')),
      fileSearch: false,
    },
    toolChoice: toolChoiceOf(choice),
    parallelCalls: choice.disable_parallel_tool_use !== true,
    maxTokens: asNumber(body.max_tokens),
    reasons: thinking === 'enabled' || thinking === 'adaptive',
    format: isObject(format) ? asObject(format.schema) : null,
    stopSequences: asList(body.stop_sequences)
      .map(asText)
      .filter((stop) => stop !== ''),
  };
};
