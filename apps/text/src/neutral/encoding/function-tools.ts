import type { JsonObject } from '../../wire/json-object.ts';
import { isJsonObject } from '../../wire/raw-json.ts';
import { refuseParameter } from '../losses.ts';
import type { CustomTool, FunctionTool } from '../tool.ts';

/** What strict mode demands of a schema, also of one without properties. */
const NOTHING_ELSE = { required: [], additionalProperties: false };

/**
 * A function's parameters as the strictest server takes them: an object at the root, with properties, be there none. Some
 * callers write what a schema lacks as null, and empty properties as an empty list.
 * @throws GatewayError where they are something else
 */
export function objectParameters(tool: FunctionTool): JsonObject {
  const schema = withoutNulls(tool.parameters ?? {});
  const { type, properties, ...rest } = schema;
  if (mayBeObject(type)) {
    if (isJsonObject(properties)) return { ...schema, type: 'object' };
    return { ...rest, type: 'object', properties: {}, ...(tool.strict && NOTHING_ELSE) };
  }
  return refuseParameter(
    [...tool.at, 'parameters', 'type'],
    `The parameters of tool '${tool.name}' must be an object schema for this model.`,
  );
}

const mayBeObject = (type: unknown): boolean =>
  Array.isArray(type) ? type.includes('object') : (type ?? 'object') === 'object';

const withoutNulls = (schema: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(schema).filter(([, value]) => value !== null));

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
