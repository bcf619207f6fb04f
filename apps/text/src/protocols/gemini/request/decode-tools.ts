import { type FunctionDeclaration, GeminiFunctions } from '@gateway/contracts/google/gemini-request';
import type { RequestReader } from '../../../neutral/request-reader.ts';
import type { FunctionTool, NamedTool, Tool, ToolChoice } from '../../../neutral/tool.ts';
import { isObject, type JsonObject } from '../../../wire/json-object.ts';
import type { Path } from '../../../wire/path.ts';
import { jsonSchema } from './json-schema.ts';

const FUNCTIONS = 'functionDeclarations';
const WEB_SEARCH: ReadonlySet<string> = new Set(['googleSearch', 'googleSearchRetrieval']);

/** One entry of `tools`: functions, and Google's own tools beside them. */
export function decodeTools(entry: JsonObject, at: Path, reader: RequestReader): Tool[] {
  return Object.entries(entry).flatMap(([name, value]): Tool[] => {
    const path = [...at, name];
    if (value === null) return [];
    if (name === FUNCTIONS)
      return reader
        .read(GeminiFunctions, value, path)
        .map((declared, index) => decodeFunction(declared, [...path, index]));
    if (!WEB_SEARCH.has(name)) return [{ type: 'hosted', name, at: path }];
    for (const member of Object.keys(isObject(value) ? value : {}))
      reader.drop([...path, member], 'known to the gemini protocol only');
    return [{ type: 'web-search', name, at: path }];
  });
}

function decodeFunction(declared: FunctionDeclaration, at: Path): FunctionTool {
  const { name, description, parameters, parametersJsonSchema } = declared;
  const schema = parametersJsonSchema ?? (parameters && jsonSchema(parameters));
  return {
    type: 'function',
    name,
    at,
    ...(description && { description }),
    ...(schema && { parameters: schema }),
  };
}

interface CallingConfig {
  readonly mode?: string | null | undefined;
  readonly allowedFunctionNames?: readonly string[] | null | undefined;
}

/** Undefined where it is left to the model. */
export function decodeToolChoice(
  { mode, allowedFunctionNames }: CallingConfig,
  reader: RequestReader,
): ToolChoice | undefined {
  const names = allowedFunctionNames ?? [];
  const tools = names.map((name): NamedTool => ({ type: 'function', name }));
  switch (mode?.toUpperCase() ?? 'AUTO') {
    case 'NONE':
      return { type: 'none' };
    case 'ANY': {
      const [only, ...others] = tools;
      if (only === undefined) return { type: 'required' };
      return others.length === 0
        ? { type: 'tool', tool: only }
        : { type: 'allowed', mode: 'required', tools };
    }
    case 'VALIDATED':
      reader.drop(['toolConfig', 'functionCallingConfig', 'mode'], 'calls are not held to their schemas');
      return tools.length === 0 ? undefined : { type: 'allowed', mode: 'auto', tools };
    case 'AUTO':
    case 'MODE_UNSPECIFIED':
      return tools.length === 0 ? undefined : { type: 'allowed', mode: 'auto', tools };
    default:
      reader.refuse(
        ['toolConfig', 'functionCallingConfig', 'mode'],
        "Expected one of 'AUTO', 'ANY', 'NONE' and 'VALIDATED'.",
      );
      return undefined;
  }
}
