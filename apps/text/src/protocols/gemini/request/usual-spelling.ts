import type { JsonObject } from '../../../wire/json-object.ts';
import { isJsonObject } from '../../../wire/raw-json.ts';

/** Members whose content is the caller's own: its names stay as they are. */
const OPAQUE: ReadonlySet<string> = new Set([
  'args',
  'response',
  'parameters',
  'parametersJsonSchema',
  'responseSchema',
  'responseJsonSchema',
  'labels',
]);

/** Members that are lists, and may be written as their only entry. */
const LISTS: ReadonlySet<string> = new Set([
  'contents',
  'parts',
  'tools',
  'functionDeclarations',
  'safetySettings',
  'stopSequences',
  'allowedFunctionNames',
  'responseModalities',
]);

/**
 * A request as most clients write it. Google takes every name in both spellings of its JSON (`inline_data`, `inlineData`), one
 * entry in place of a list, a text in place of the instructions' content, and of a count the whole request in a member.
 */
export function usualSpelling(body: JsonObject): JsonObject {
  const { generateContentRequest, systemInstruction, ...usual } = spelled(body);
  const wrapped = isJsonObject(generateContentRequest) ? generateContentRequest : {};
  const { model: _, ...counted } = wrapped;
  const system = counted.systemInstruction ?? systemInstruction;
  return {
    ...usual,
    ...counted,
    ...(system !== undefined && {
      systemInstruction: typeof system === 'string' ? { parts: [{ text: system }] } : system,
    }),
  };
}

function spelled(object: JsonObject): JsonObject {
  const usual: { [member: string]: unknown } = {};
  for (const [name, value] of Object.entries(object)) {
    const member = name.includes('_') ? camelCase(name) : name;
    usual[member] = OPAQUE.has(member) ? value : inList(member, usualValue(value));
  }
  return usual;
}

const inList = (member: string, value: unknown): unknown =>
  LISTS.has(member) && value !== null && !Array.isArray(value) ? [value] : value;

function usualValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(usualValue);
  return isJsonObject(value) ? spelled(value) : value;
}

const camelCase = (name: string): string =>
  name.replaceAll(/_+([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
