import { asList, asObject, asText, isObject, type JsonObject } from '../json-value.ts';
import { ProviderError } from '../replies/provider-error.ts';
import { isOwnCallSignature, NO_SIGNATURE } from './signatures.ts';

const refused = (message: string, field?: string): ProviderError =>
  new ProviderError({
    status: 400,
    message,
    ...(field !== undefined && {
      details: {
        '@type': 'type.googleapis.com/google.rpc.BadRequest',
        fieldViolations: [{ field, description: message }],
      },
    }),
  });

const MEMBERS: ReadonlySet<string> = new Set([
  ...['contents', 'systemInstruction', 'tools', 'toolConfig', 'generationConfig', 'safetySettings'],
  ...['cachedContent', 'serviceTier', 'labels'],
]);

/** The keywords of `parameters` and `responseSchema`. Any other refuses the whole request. */
const SCHEMA_KEYWORDS: ReadonlySet<string> = new Set([
  ...[
    'type',
    'format',
    'title',
    'description',
    'nullable',
    'enum',
    'default',
    'example',
    'items',
    'minItems',
  ],
  ...[
    'maxItems',
    'properties',
    'required',
    'minProperties',
    'maxProperties',
    'minimum',
    'maximum',
    'minLength',
  ],
  ...['maxLength', 'pattern', 'anyOf', 'propertyOrdering'],
]);

/** @throws ProviderError 400 for what Gemini refuses */
export function checkGeminiRequest(body: JsonObject, secret: string): void {
  for (const name of Object.keys(body)) if (!MEMBERS.has(name)) throw unknownName(name, 'the request');
  checkTools(asList(body.tools), asObject(body.toolConfig));
  checkGeneration(asObject(body.generationConfig));
  checkContents(asList(body.contents).map(asObject), secret);
}

/** Google takes them in capitals, and in small letters too. */
const TYPES: ReadonlySet<string> = new Set([
  ...['string', 'number', 'integer', 'boolean', 'array', 'object', 'null', 'type_unspecified'],
]);

const unknownName = (name: string, field: string): ProviderError =>
  refused(`Invalid JSON payload received. Unknown name "${name}" at '${field}': Cannot find field.`, field);

function checkTools(tools: readonly unknown[], toolConfig: JsonObject): void {
  const declared = tools.map(asObject).flatMap(({ functionDeclarations }) => asList(functionDeclarations));
  const usesGoogles = tools.some((tool) => 'googleSearch' in asObject(tool));
  if (usesGoogles && declared.length > 0 && toolConfig.includeServerSideToolInvocations !== true)
    throw refused(
      'Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with Function calling.',
    );
  for (const [index, one] of declared.map(asObject).entries()) {
    const field = `tools[0].function_declarations[${index}]`;
    if (!/^[a-zA-Z_][\w:.-]{0,63}$/.test(asText(one.name)))
      throw refused(`Invalid function name '${asText(one.name)}'.`, `${field}.name`);
    if (one.parameters !== undefined && one.parametersJsonSchema !== undefined)
      throw refused('parameters and parameters_json_schema are mutually exclusive.', field);
    if (isObject(one.parameters)) checkSchema(one.parameters, `${field}.parameters`);
  }
}

function checkSchema(schema: JsonObject, field: string): void {
  for (const name of Object.keys(schema)) if (!SCHEMA_KEYWORDS.has(name)) throw unknownName(name, field);
  if (schema.type !== undefined && !TYPES.has(asText(schema.type).toLowerCase()))
    throw refused(
      `Invalid value at '${field}.type' (type.googleapis.com/google.ai.generativelanguage.v1beta.Type)`,
      field,
    );
  if (
    asText(schema.type).toLowerCase() === 'object' &&
    'properties' in schema &&
    Object.keys(asObject(schema.properties)).length === 0
  )
    throw refused(`${field}.properties: should be non-empty for OBJECT type`, field);
  for (const [name, inner] of Object.entries(asObject(schema.properties)))
    checkSchema(asObject(inner), `${field}.properties[${name}]`);
  if (isObject(schema.items)) checkSchema(schema.items, `${field}.items`);
  for (const one of asList(schema.anyOf)) checkSchema(asObject(one), `${field}.any_of`);
}

function checkGeneration(config: JsonObject): void {
  const thinking = asObject(config.thinkingConfig);
  if (thinking.thinkingLevel !== undefined && thinking.thinkingBudget !== undefined)
    throw refused('You can only set only one of thinking budget and thinking level.');
  if (isObject(config.responseSchema))
    checkSchema(config.responseSchema, 'generation_config.response_schema');
  if (asList(config.stopSequences).length > 5)
    throw refused('At most 5 stop sequences are supported.', 'generation_config.stop_sequences');
}

/** Calls and results pair, and the calls since the user's last words have the signatures that they came with. */
function checkContents(contents: readonly JsonObject[], secret: string): void {
  if (contents.length === 0)
    throw refused('* GenerateContentRequest.contents: contents is not specified', 'contents');
  const partsOf = ({ parts }: JsonObject) => asList(parts).map(asObject);
  const isWords = (content: JsonObject) =>
    content.role === 'user' && partsOf(content).some((part) => !('functionResponse' in part));
  const current = contents.findLastIndex(isWords);
  for (const [index, content] of contents.entries()) {
    const calls = partsOf(content).filter((part) => 'functionCall' in part);
    if (calls.length === 0) continue;
    const next = contents[index + 1];
    const results = next === undefined ? [] : partsOf(next).filter((part) => 'functionResponse' in part);
    if (results.length !== calls.length)
      throw refused(
        'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
      );
    for (const [at, result] of results.entries())
      if (asObject(result.functionResponse).name !== asObject(calls[at]?.functionCall).name)
        throw refused('Function response name does not match the function call name.');
    const [first] = calls;
    const signature = first?.thoughtSignature;
    if (index > current && signature === undefined)
      throw refused(
        `Function call is missing a thought_signature in functionCall parts. Additional data, function call \`default_api:${asText(asObject(first?.functionCall).name)}\` , position ${index + 1}.`,
      );
    for (const call of calls) checkSignature(call, secret);
  }
}

function checkSignature({ functionCall, thoughtSignature }: JsonObject, secret: string): void {
  if (thoughtSignature === undefined || thoughtSignature === NO_SIGNATURE) return;
  if (!isOwnCallSignature(asObject(functionCall), asText(thoughtSignature), secret))
    throw refused('Corrupted thought signature.');
}
