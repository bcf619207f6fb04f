import { isOwnSeal, isOwnSignature, REDACTED_THINKING_PREFIX } from '../answer/signature.ts';
import { asList, asObject, asText, isObject, type JsonObject } from '../json-value.ts';
import { ProviderError } from '../replies/provider-error.ts';

/** 400 in the words of Bedrock. */
export const invalidConverse = (message: string): ProviderError =>
  new ProviderError({ status: 400, message });

const MEMBERS: ReadonlySet<string> = new Set([
  'messages',
  'system',
  'inferenceConfig',
  'toolConfig',
  'outputConfig',
  'additionalModelRequestFields',
  'additionalModelResponseFieldPaths',
  'guardrailConfig',
  'performanceConfig',
  'serviceTier',
  'requestMetadata',
  'promptVariables',
]);
const BLOCKS: ReadonlySet<string> = new Set([
  'text',
  'image',
  'document',
  'toolUse',
  'toolResult',
  'reasoningContent',
  'cachePoint',
]);
const [MAX_IMAGES, MAX_DOCUMENTS, MAX_POINTS] = [20, 5, 4];
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const CALL_ID = /^[a-zA-Z0-9_-]{1,64}$/;
const DOCUMENT_NAME = /^(?!.*\s\s)[a-zA-Z0-9\s()[\]-]{1,200}$/;
const DOCUMENT_FORMATS = ['pdf', 'csv', 'doc', 'docx', 'xls', 'xlsx', 'html', 'txt', 'md'];
const IMAGE_FORMATS = ['png', 'jpeg', 'gif', 'webp'];
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/**
 * What Bedrock checks before it calls a model.
 * @throws ProviderError 400
 */
export function checkConverseRequest(body: JsonObject, secret: string): void {
  const unknown = Object.keys(body).find((name) => !MEMBERS.has(name));
  if (unknown !== undefined)
    throw invalidConverse(`Malformed input request: #: extraneous key [${unknown}] is not permitted`);
  const messages = asList(body.messages).map(asObject);
  checkRoles(messages);
  messages.forEach((message, index) => {
    checkBlocks(asList(message.content), `messages.${index}`, secret);
  });
  for (const block of asList(body.system).map(asObject)) checkText(block, 'system');
  checkTools(body, messages);
  checkCalls(messages);
  checkAttachments(messages);
  checkInference(asObject(body.inferenceConfig));
  const points = [...asList(body.system), ...asList(asObject(body.toolConfig).tools)]
    .concat(messages.flatMap(({ content }) => asList(content)))
    .filter((block) => isObject(asObject(block).cachePoint));
  if (points.length > MAX_POINTS)
    throw invalidConverse(`A maximum of ${MAX_POINTS} cachePoint blocks is allowed, found ${points.length}.`);
}

function checkRoles(messages: readonly JsonObject[]): void {
  if (messages[0]?.role !== 'user')
    throw invalidConverse(
      'A conversation must start with a user message. Try again with a conversation that starts with a user message.',
    );
  messages.forEach(({ role }, index) => {
    if (role !== 'user' && role !== 'assistant')
      throw invalidConverse(`Value at 'messages.${index + 1}.member.role' failed to satisfy constraint`);
    if (role === messages[index - 1]?.role)
      throw invalidConverse(
        'A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again.',
      );
  });
  if (messages.at(-1)?.role !== 'user')
    throw invalidConverse(
      'This model does not support assistant message prefill. The conversation must end with a user message.',
    );
}

function checkBlocks(content: readonly unknown[], at: string, secret: string): void {
  if (content.length === 0)
    throw invalidConverse(
      `The content field in the Message object at ${at} is empty. Add a ContentBlock object to the content field and try again.`,
    );
  content.map(asObject).forEach((block, index) => {
    const place = `${at}.content.${index}`;
    const [kind = '', ...others] = Object.keys(block);
    if (!BLOCKS.has(kind) || others.length > 0)
      throw invalidConverse(`Unknown ContentBlock at ${place}: exactly one known member is allowed.`);
    checkText(block, place);
    checkReasoning(asObject(block.reasoningContent), place, secret);
    if (isObject(block.toolResult)) checkResult(block.toolResult, place, secret);
  });
}

function checkResult(result: JsonObject, at: string, secret: string): void {
  checkBlocks(asList(result.content), `${at}.toolResult`, secret);
  if (result.status !== undefined && !['success', 'error'].includes(asText(result.status)))
    throw invalidConverse(`Value at '${at}.toolResult.status' failed to satisfy constraint`);
}

function checkText({ text }: JsonObject, at: string): void {
  if (text !== undefined && asText(text).trim() === '')
    throw invalidConverse(
      `The text field in the ContentBlock object at ${at} is blank. Add text to the text field, and try again.`,
    );
}

/** Reasoning must be this provider's own, unaltered. */
function checkReasoning({ reasoningText, redactedContent }: JsonObject, at: string, secret: string): void {
  if (isObject(reasoningText)) {
    const { text, signature } = reasoningText;
    if (!isOwnSignature(asText(text), signature, secret))
      throw invalidConverse(`${at}: Invalid \`signature\` in \`thinking\` block`);
  }
  if (redactedContent === undefined) return;
  const sealed = Buffer.from(asText(redactedContent), 'base64').toString();
  if (!isOwnSeal(REDACTED_THINKING_PREFIX, sealed, secret))
    throw invalidConverse(`${at}: Invalid \`data\` in \`redacted_thinking\` block`);
}

function checkTools({ toolConfig }: JsonObject, messages: readonly JsonObject[]): void {
  const hasCalls = messages.some(({ content }) =>
    asList(content).some(
      (block) => isObject(asObject(block).toolUse) || isObject(asObject(block).toolResult),
    ),
  );
  if (toolConfig === undefined && hasCalls)
    throw invalidConverse(
      'The toolConfig field must be defined when using toolUse and toolResult content blocks.',
    );
  if (!isObject(toolConfig)) return;
  const specs = asList(toolConfig.tools)
    .map((tool) => asObject(tool).toolSpec)
    .filter(isObject);
  if (asList(toolConfig.tools).length === 0)
    throw invalidConverse(
      "Value at 'toolConfig.tools' failed to satisfy constraint: Member must have length >= 1",
    );
  for (const { name, description, inputSchema } of specs) {
    if (!TOOL_NAME.test(asText(name)))
      throw invalidConverse(
        `Value '${asText(name)}' at 'toolConfig.tools.1.member.toolSpec.name' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+`,
      );
    if (description === '')
      throw invalidConverse(
        "Value at 'toolSpec.description' failed to satisfy constraint: Member must have length >= 1",
      );
    if (asObject(asObject(inputSchema).json).type !== 'object')
      throw invalidConverse(
        'The value at toolConfig.tools.0.toolSpec.inputSchema.json.type must be one of the following: object.',
      );
  }
  const { toolChoice } = toolConfig;
  if (toolChoice === undefined) return;
  const [kind = '', ...others] = Object.keys(asObject(toolChoice));
  if (!['auto', 'any', 'tool'].includes(kind) || others.length > 0)
    throw invalidConverse("Value at 'toolConfig.toolChoice' is no member of the union auto, any, tool");
  const { name } = asObject(asObject(toolChoice).tool);
  if (kind === 'tool' && !specs.some((spec) => spec.name === name))
    throw invalidConverse(`The tool ${asText(name)} of the toolChoice is not among the tools.`);
}

const idsOf = (message: JsonObject | undefined, kind: 'toolUse' | 'toolResult'): string[] =>
  asList(message?.content)
    .map((block) => asObject(block)[kind])
    .filter(isObject)
    .map(({ toolUseId }) => asText(toolUseId));

/** All results of a message's calls are in the next message, and nowhere else. */
function checkCalls(messages: readonly JsonObject[]): void {
  messages.forEach((message, index) => {
    const calls = idsOf(message, 'toolUse');
    const results = idsOf(messages[index + 1], 'toolResult');
    const missing = calls.filter((id) => !results.includes(id));
    if (missing.length > 0)
      throw invalidConverse(
        `Expected toolResult blocks at messages.${index + 1}.content for the following Ids: ${missing.join(', ')}`,
      );
    if (idsOf(message, 'toolResult').length > idsOf(messages[index - 1], 'toolUse').length)
      throw invalidConverse(
        `The number of toolResult blocks at messages.${index}.content exceeds the number of toolUse blocks of previous turn.`,
      );
    const wrong = calls.find((id) => !CALL_ID.test(id));
    if (wrong !== undefined || new Set(calls).size < calls.length)
      throw invalidConverse(`Value '${wrong ?? calls[0]}' at 'toolUseId' failed to satisfy constraint`);
  });
}

/** Images and documents, those that tools have returned too. */
function checkAttachments(messages: readonly JsonObject[]): void {
  const blocks = messages.flatMap(({ content }) =>
    asList(content)
      .map(asObject)
      .flatMap((block) => [block, ...asList(asObject(block.toolResult).content).map(asObject)]),
  );
  const images = blocks.map(({ image }) => image).filter(isObject);
  const documents = blocks.map(({ document }) => document).filter(isObject);
  if (images.length > MAX_IMAGES) throw invalidConverse('too many images in request');
  if (documents.length > MAX_DOCUMENTS) throw invalidConverse('too many documents in request');
  for (const { format, source } of images) checkBytes(format, IMAGE_FORMATS, source);
  for (const { format, source, name } of documents) {
    checkBytes(format, DOCUMENT_FORMATS, source);
    if (!DOCUMENT_NAME.test(asText(name)))
      throw invalidConverse(
        'The document file name can only contain alphanumeric characters, whitespace characters, hyphens, parentheses, and square brackets. The name cannot contain more than one consecutive whitespace character.',
      );
  }
  if (new Set(documents.map(({ name }) => name)).size < documents.length)
    throw invalidConverse('The request contains duplicate document names.');
  for (const { content } of messages) {
    const own = asList(content).map(asObject);
    if (own.some((block) => isObject(block.document)) && !own.some((block) => 'text' in block))
      throw invalidConverse(
        'A text block must be included in the content of a message with a document block.',
      );
  }
}

function checkBytes(format: unknown, formats: readonly string[], source: unknown): void {
  if (!formats.includes(asText(format)))
    throw invalidConverse(
      `Value '${asText(format)}' at 'format' failed to satisfy enum: [${formats.join(', ')}]`,
    );
  const { bytes: encoded, content } = asObject(source);
  if (asList(content).length > 0) return;
  const bytes = asText(encoded);
  if (bytes === '' || !BASE64.test(bytes))
    throw invalidConverse('Value at source.bytes is not valid base64.');
}

function checkInference({ maxTokens, temperature, topP, stopSequences }: JsonObject): void {
  const within = (value: unknown, lowest: number, highest: number) =>
    value === undefined || (typeof value === 'number' && value >= lowest && value <= highest);
  for (const [name, fits] of [
    ['maxTokens', within(maxTokens, 1, 128_000)],
    ['temperature', within(temperature, 0, 1)],
    ['topP', within(topP, 0, 1)],
    ['stopSequences', asList(stopSequences).every((stop) => typeof stop === 'string' && stop !== '')],
  ] as const)
    if (!fits)
      throw invalidConverse(
        `1 validation error detected: Value at 'inferenceConfig.${name}' failed to satisfy constraint`,
      );
}
