import type { JsonObject } from '../wire/json-object.ts';
import { isJsonObject } from '../wire/raw-json.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';

/** What requires a call of any tool. */
const REQUIRED: Readonly<Record<TextProtocol, unknown>> = {
  chat: 'required',
  responses: 'required',
  messages: { type: 'any' },
  gemini: undefined,
};

/** Chat puts a tool's name below its type; the other protocols have it beside. */
const nameOf = (value: unknown): unknown => {
  if (!isJsonObject(value)) return undefined;
  const definition = typeof value.type === 'string' ? value[value.type] : undefined;
  return value.name ?? (isJsonObject(definition) ? definition.name : undefined);
};

/**
 * A request for a server that ignores a choice that names tools: only these are offered, and a call is required (of a
 * list of allowed tools: as its mode demands). A choice that names no offered tool stays as it is.
 */
export function demandOneTool(body: JsonObject, protocol: TextProtocol): JsonObject {
  const { tools, tool_choice: choice } = body;
  if (!isJsonObject(choice) || !Array.isArray(tools)) return body;
  const nested = isJsonObject(choice.allowed_tools) ? choice.allowed_tools : choice;
  const isList = choice.type === 'allowed_tools' && Array.isArray(nested.tools);
  const wanted: readonly unknown[] = isList && Array.isArray(nested.tools) ? nested.tools : [choice];
  const names = new Set(wanted.map(nameOf).filter((name) => typeof name === 'string'));
  const offered = tools.filter((tool) => {
    const name = nameOf(tool);
    return typeof name === 'string' && names.has(name);
  });
  if (offered.length === 0) return body;
  if (isList) return { ...body, tools: offered, tool_choice: nested.mode };
  const { disable_parallel_tool_use: single } = choice;
  const required = REQUIRED[protocol];
  const bounded =
    isJsonObject(required) && single !== undefined
      ? { ...required, disable_parallel_tool_use: single }
      : required;
  return { ...body, tools: offered, tool_choice: bounded };
}
