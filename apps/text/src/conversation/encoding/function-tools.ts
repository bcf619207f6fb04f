import type { JsonObject } from '../../wire/json-object.ts';
import { refuseParameter } from '../losses.ts';
import type { CustomTool, FunctionTool } from '../tool.ts';

const NO_PARAMETERS: JsonObject = { type: 'object', properties: {} };

/** A function's parameters with an object at the root, as every protocol wants. @throws GatewayError where they are something else */
export function objectParameters(tool: FunctionTool): JsonObject {
  const { parameters } = tool;
  if (parameters === undefined) return NO_PARAMETERS;
  if (parameters.type === 'object') return parameters;
  if (parameters.type === undefined || parameters.type === null) {
    return { ...parameters, type: 'object' };
  }
  return refuseParameter(
    [...tool.at, 'parameters', 'type'],
    `The parameters of tool '${tool.name}' must be an object schema for this model.`,
  );
}

/** How a free-text tool is shown to a model that only knows functions. Its grammar is described, not enforced. */
export function customAsFunction(tool: CustomTool): { description: string; parameters: JsonObject } {
  const grammar =
    tool.grammar === undefined
      ? []
      : [`The input must match this ${tool.grammar.syntax} grammar:\n${tool.grammar.definition}`];
  return {
    description: [tool.description, ...grammar].filter((text) => text !== undefined).join('\n\n'),
    parameters: {
      type: 'object',
      properties: { input: { type: 'string', description: 'The whole input of the tool, as plain text.' } },
      required: ['input'],
      additionalProperties: false,
    },
  };
}
