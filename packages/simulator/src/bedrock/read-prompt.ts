import type { Prompt, ToolChoice } from '../answer/prompt.ts';
import { asList, asNumber, asObject, asText, isObject, type JsonObject } from '../json-value.ts';
import { lastUserText } from '../messages/read-prompt.ts';
import { contentText, countInputTokens } from '../tokens.ts';

const toolResultsOf = (messages: readonly unknown[]): string[] =>
  asList(asObject(messages.at(-1)).content)
    .map((block) => asObject(block).toolResult)
    .filter(isObject)
    .map(({ content }) => contentText(content));

function toolChoiceOf(choice: JsonObject): ToolChoice {
  if (isObject(choice.tool)) return { mode: 'named', name: asText(choice.tool.name) };
  return { mode: choice.any === undefined ? 'auto' : 'required' };
}

/** Whether reasoning is requested, in any maker's member. */
function reasons({ thinking, reasoningConfig, reasoning_effort: effort, reasoning }: JsonObject): boolean {
  const types = [asObject(thinking).type, asObject(reasoningConfig).type];
  const efforts = [effort, asObject(reasoning).effort];
  return (
    types.some((type) => type === 'enabled' || type === 'adaptive') ||
    efforts.some((one) => one !== undefined && one !== 'none')
  );
}

function formatOf({ textFormat }: JsonObject): JsonObject | null {
  const { schema } = asObject(asObject(asObject(textFormat).structure).jsonSchema);
  return typeof schema === 'string' ? asObject(JSON.parse(schema)) : null;
}

/** A request of Converse as the simulated model's input. */
export const readConversePrompt = (model: string, body: JsonObject): Prompt => {
  const messages = asList(body.messages);
  const config = asObject(body.toolConfig);
  const inference = asObject(body.inferenceConfig);
  const specs = asList(config.tools)
    .map((tool) => asObject(tool).toolSpec)
    .filter(isObject);
  return {
    model,
    userText: lastUserText(messages),
    toolResults: toolResultsOf(messages),
    inputTokens: countInputTokens(body.system, messages, specs),
    tools: specs.map(({ name, description, inputSchema }) => ({
      name: asText(name),
      description: asText(description),
      schema: asObject(asObject(inputSchema).json),
    })),
    hosted: { webSearch: false, fileSearch: false },
    toolChoice: toolChoiceOf(asObject(config.toolChoice)),
    parallelCalls: true,
    maxTokens: asNumber(inference.maxTokens),
    reasons: reasons(asObject(body.additionalModelRequestFields)),
    format: formatOf(asObject(body.outputConfig)),
    stopSequences: asList(inference.stopSequences).map(asText),
  };
};
