import type { Answer, AnswerPart } from '../answer/answer.ts';
import { FOUND_PAGE } from '../answer/answer.ts';
import { composeAnswer } from '../answer/compose-answer.ts';
import type { Prompt, ToolChoice } from '../answer/prompt.ts';
import { readJson } from '../checks/read-json.ts';
import { asList, asNumber, asObject, asText, isObject, type JsonObject } from '../json-value.ts';
import { tokenLedgerEntry } from '../ledger.ts';
import { ProviderError } from '../replies/provider-error.ts';
import { dataFrame, jsonReply, streamReply } from '../replies/reply.ts';
import type { Call, Handler } from '../requests/call.ts';
import { contentText, countInputTokens, splitWords } from '../tokens.ts';
import { checkGeminiRequest } from './check-request.ts';
import { createMedia, mediaWanted, predictImages } from './create-media.ts';
import { embedContent, isPredictedEmbedding, predictEmbeddings, textsToEmbed } from './embed-content.ts';
import { googleError } from './google-error.ts';
import { callSignature } from './signatures.ts';

const partsOf = (content: unknown): JsonObject[] => asList(asObject(content).parts).map(asObject);

const lastUserText = (contents: unknown): string =>
  contentText(
    partsOf(
      asList(contents).findLast(
        (content) => asObject(content).role === 'user' && contentText(partsOf(content)) !== '',
      ),
    ),
  );

const toolChoiceOf = (config: JsonObject): ToolChoice => {
  const { mode, allowedFunctionNames } = asObject(config.functionCallingConfig);
  const [only] = asList(allowedFunctionNames);
  if (mode === 'ANY')
    return only === undefined ? { mode: 'required' } : { mode: 'named', name: asText(only) };
  return { mode: mode === 'NONE' ? 'none' : 'auto' };
};

/** A schema of Google's own form, whose types are in capitals, as JSON Schema. */
const asJsonSchema = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(asJsonSchema);
  if (!isObject(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [
      name,
      name === 'type' && typeof value === 'string' ? value.toLowerCase() : asJsonSchema(value),
    ]),
  );
};

/** A request as the simulated model's input. */
const readPrompt = (body: JsonObject, model: string): Prompt => {
  const contents = asList(body.contents);
  const tools = asList(body.tools).map(asObject);
  const config = asObject(body.generationConfig);
  const results = partsOf(contents.at(-1)).filter((part) => 'functionResponse' in part);
  const wantsJson = config.responseMimeType === 'application/json';
  const schema = config.responseJsonSchema ?? asJsonSchema(config.responseSchema);
  const level = asText(asObject(config.thinkingConfig).thinkingLevel);
  return {
    model,
    userText: lastUserText(contents),
    toolResults: results.map((part) => {
      const { output, error } = asObject(asObject(part.functionResponse).response);
      return asText(output ?? error);
    }),
    inputTokens: countInputTokens(body.systemInstruction, contents, tools),
    tools: tools
      .flatMap(({ functionDeclarations }) => asList(functionDeclarations))
      .map(asObject)
      .map(({ name, description, parametersJsonSchema, parameters }) => ({
        name: asText(name),
        description: asText(description),
        schema: asObject(parametersJsonSchema ?? asJsonSchema(parameters)),
      })),
    hosted: { webSearch: tools.some((tool) => 'googleSearch' in tool), fileSearch: false },
    toolChoice: toolChoiceOf(asObject(body.toolConfig)),
    parallelCalls: true,
    maxTokens: asNumber(config.maxOutputTokens),
    reasons: level !== '' && level !== 'MINIMAL',
    format: wantsJson ? (isObject(schema) ? schema : 'object') : null,
    stopSequences: asList(config.stopSequences).map(asText),
  };
};

/** Parts of the answer; of calls side by side only the first is signed. */
const contentParts = (answer: Answer, body: JsonObject, secret: string): JsonObject[] => {
  const shows = asObject(asObject(body.generationConfig).thinkingConfig).includeThoughts === true;
  let isSigned = false;
  const toParts = (part: AnswerPart): JsonObject[] => {
    switch (part.kind) {
      case 'reasoning':
        return shows ? [{ text: part.text, thought: true }] : [];
      case 'text':
      case 'refusal':
        return [{ text: part.text }];
      case 'tool-call': {
        const functionCall = { name: part.name, args: asObject(JSON.parse(part.arguments)) };
        const signed = isSigned ? {} : { thoughtSignature: callSignature(functionCall, secret) };
        isSigned = true;
        return [{ functionCall, ...signed }];
      }
      default:
        return [];
    }
  };
  return answer.parts.flatMap(toParts);
};

const FINISH: Readonly<Record<Answer['finish'], string>> = {
  stop: 'STOP',
  length: 'MAX_TOKENS',
  'tool-calls': 'STOP',
  refusal: 'SAFETY',
  'stop-sequence': 'STOP',
};

const groundingOf = ({ parts }: Answer): JsonObject => {
  const queries = parts.flatMap((part) => (part.kind === 'web-search' ? [part.query] : []));
  const cited = parts.find((part) => part.kind === 'text' && part.citation !== null);
  if (queries.length === 0) return {};
  const span = cited?.kind === 'text' ? cited.citation : null;
  const supports = span
    ? [{ segment: { startIndex: span.start, endIndex: span.end }, groundingChunkIndices: [0] }]
    : [];
  return {
    groundingMetadata: {
      webSearchQueries: queries,
      groundingChunks: [{ web: { uri: FOUND_PAGE.url, title: FOUND_PAGE.title } }],
      groundingSupports: supports,
    },
  };
};

/** Thoughts are beside the output. */
const usageOf = ({ usage }: Answer): JsonObject => ({
  promptTokenCount: usage.inputTokens,
  ...(usage.cachedTokens > 0 && { cachedContentTokenCount: usage.cachedTokens }),
  candidatesTokenCount: usage.outputTokens - usage.reasoningTokens,
  ...(usage.reasoningTokens > 0 && { thoughtsTokenCount: usage.reasoningTokens }),
  totalTokenCount: usage.inputTokens + usage.outputTokens,
});

/** `gemini-3.8-flash:generateContent` */
const readPath = ({ params }: Call): { model: string; method: string } => {
  const [segment = ''] = params;
  const [model = '', method = ''] = decodeURIComponent(segment).split(':');
  if (model.startsWith('no-such-'))
    throw new ProviderError({
      status: 404,
      message: `models/${model} is not found for API version v1beta, or is not supported for ${method}.`,
    });
  return { model, method };
};

const camel = (members: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(members).map(([name, value]) => [
      name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  );

/** Google reads the members of its messages in either spelling; its Python client writes how to think with underscores. */
const inCamelCase = (body: JsonObject): JsonObject => {
  const sent = camel(body);
  if (!isObject(sent.generationConfig)) return sent;
  const config = camel(sent.generationConfig);
  const thinking = isObject(config.thinkingConfig) ? { thinkingConfig: camel(config.thinkingConfig) } : {};
  return { ...sent, generationConfig: { ...config, ...thinking } };
};

/** A prompt with these words is not answered: a 200 without candidates. */
const BLOCKED = /\bforbidden words\b/i;

/** `POST /v1beta/models/{model}:generateContent`, `:streamGenerateContent`, `:countTokens`, `:predict` and `:embedContent` */
export const createContent: Handler = (call) => {
  const { provider, request } = call;
  const { model, method } = readPath(call);
  const sent = inCamelCase(readJson(call));
  if (method === 'countTokens') return countTokens(sent, provider.signatureSecret);
  if (method === 'embedContent' || (method === 'predict' && isPredictedEmbedding(model))) {
    call.applyDirectives(textsToEmbed(sent), model);
    return method === 'predict' ? predictEmbeddings(model, sent) : embedContent(model, sent);
  }
  if (method === 'predict') {
    call.applyDirectives(asText(asObject(asList(sent.instances)[0]).prompt), model);
    return predictImages(model, sent);
  }
  if (method !== 'generateContent' && method !== 'streamGenerateContent')
    throw new ProviderError({ status: 404, message: 'Not Found' });
  if (method === 'streamGenerateContent' && !request.url.includes('alt=sse'))
    throw new ProviderError({ status: 400, message: 'The simulator only streams with alt=sse.' });
  call.applyDirectives(lastUserText(sent.contents), model);
  checkGeminiRequest(sent, provider.signatureSecret);
  const media = mediaWanted(sent);
  if (media !== null) return createMedia(model, sent, media);
  const prompt = readPrompt(sent, model);
  const head = { modelVersion: model, responseId: provider.ids.next('rsp-') };
  const streams = method === 'streamGenerateContent';
  if (BLOCKED.test(prompt.userText)) {
    const usageMetadata = { promptTokenCount: prompt.inputTokens, totalTokenCount: prompt.inputTokens };
    const blocked = { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' }, usageMetadata, ...head };
    return streams ? streamReply([dataFrame(blocked)]) : jsonReply(blocked);
  }
  const answer = composeAnswer(prompt, call.wish());
  const parts = contentParts(answer, sent, provider.signatureSecret);
  const usageMetadata = usageOf(answer);
  const ending = { finishReason: FINISH[answer.finish], ...groundingOf(answer) };
  const ledger = tokenLedgerEntry(model, answer.usage);
  if (!streams)
    return jsonReply(
      { candidates: [{ content: { role: 'model', parts }, index: 0, ...ending }], usageMetadata, ...head },
      ledger,
    );
  const frame = (shown: readonly JsonObject[], more: JsonObject = {}) =>
    dataFrame({
      candidates: [{ content: { role: 'model', parts: shown }, index: 0, ...more }],
      usageMetadata,
      ...head,
    });
  const pieces = parts.flatMap((part) =>
    typeof part.text === 'string' ? splitWords(part.text).map((text) => ({ ...part, text })) : [part],
  );
  const frames = [...pieces.map((piece) => frame([piece])), frame([{ text: '' }], ending)];
  const failure = new ProviderError({ status: 503, message: 'The model is overloaded.' });
  const errorFrames = () => [dataFrame({ ...googleError(failure) })];
  return streamReply(frames, { ledger, errorFrames });
};

const countTokens = ({ generateContentRequest, ...plain }: JsonObject, secret: string) => {
  const { model, ...wrapped } = asObject(generateContentRequest);
  if (generateContentRequest !== undefined && !asText(model).startsWith('models/'))
    throw new ProviderError({
      status: 400,
      message: '* CountTokensRequest.model: unexpected model name format',
    });
  const counted = generateContentRequest === undefined ? plain : wrapped;
  checkGeminiRequest(counted, secret);
  return jsonReply({
    totalTokens: countInputTokens(counted.systemInstruction, counted.contents, counted.tools),
  });
};
