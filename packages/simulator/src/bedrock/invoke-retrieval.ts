import { readJson } from '../checks/read-json.ts';
import { asList, asNumber, asObject, asText, isObject, type JsonObject } from '../json-value.ts';
import { jsonReply, type Reply } from '../replies/reply.ts';
import type { Call } from '../requests/call.ts';
import { cosine, vectorOf } from '../retrieval/vector-of.ts';
import { countTokens } from '../tokens.ts';
import { invalidConverse } from './check-request.ts';
import { oneOf, refuseOthers } from './check-schema.ts';

const COUNT = 'x-amzn-bedrock-input-token-count';

function texts(value: unknown, name: string, most: number): string[] {
  const all = asList(value);
  if (all.length === 0 || all.some((one) => typeof one !== 'string' || one === ''))
    throw invalidConverse(`Malformed input request: #/${name}: expected texts`);
  if (all.length > most)
    throw invalidConverse(
      `Malformed input request: #/${name}: expected maximum item count: ${most}, found: ${all.length}`,
    );
  return all.map(asText);
}

const counted = (reply: Reply, tokens: number): Reply => ({
  ...reply,
  headers: { ...reply.headers, [COUNT]: String(tokens) },
});

function titan(body: JsonObject, model: string): Reply {
  refuseOthers(body, ['inputText', 'dimensions', 'normalize', 'embeddingTypes']);
  const [text = ''] = texts([body.inputText], 'inputText', 1);
  oneOf(body.dimensions, [256, 512, 1024], 'dimensions');
  const inputTokens = countTokens(text);
  const embedding = vectorOf(text, asNumber(body.dimensions) ?? 1024);
  const reply = { embedding, embeddingsByType: { float: embedding }, inputTextTokenCount: inputTokens };
  return counted(jsonReply(reply, { model, inputTokens }), inputTokens);
}

const PURPOSES = ['GENERIC_INDEX', 'GENERIC_RETRIEVAL', 'TEXT_RETRIEVAL', 'CLASSIFICATION', 'CLUSTERING'];

function nova(body: JsonObject, model: string): Reply {
  refuseOthers(body, ['schemaVersion', 'taskType', 'singleEmbeddingParams']);
  if (body.taskType !== 'SINGLE_EMBEDDING' || !isObject(body.singleEmbeddingParams))
    throw invalidConverse('Malformed input request: #/taskType: expected SINGLE_EMBEDDING');
  const params = body.singleEmbeddingParams;
  refuseOthers(params, ['embeddingPurpose', 'embeddingDimension', 'text'], '#/singleEmbeddingParams');
  if (params.embeddingPurpose === undefined)
    throw invalidConverse('Malformed input request: #: required key [embeddingPurpose] not found');
  oneOf(params.embeddingPurpose, PURPOSES, 'embeddingPurpose');
  oneOf(params.embeddingDimension, [256, 384, 1024, 3072], 'embeddingDimension');
  const { value, truncationMode } = asObject(params.text);
  if (truncationMode === undefined)
    throw invalidConverse('Malformed input request: #: required key [truncationMode] not found');
  oneOf(truncationMode, ['START', 'END', 'NONE'], 'truncationMode');
  const [text = ''] = texts([value], 'text', 1);
  const inputTokens = countTokens(text);
  const embedding = vectorOf(text, asNumber(params.embeddingDimension) ?? 3072);
  return counted(
    jsonReply({ embeddings: [{ embeddingType: 'TEXT', embedding }] }, { model, inputTokens }),
    inputTokens,
  );
}

/** The fourth version's; the third has one size. */
const DIMENSIONS = [256, 512, 1024, 1536];

function cohere(body: JsonObject, model: string): Reply {
  const isFourth = model.includes('embed-v4');
  refuseOthers(body, [
    ...['texts', 'input_type', 'truncate', 'embedding_types'],
    ...(isFourth ? ['output_dimension', 'max_tokens'] : []),
  ]);
  const all = texts(body.texts, 'texts', 96);
  if (body.input_type === undefined)
    throw invalidConverse('Malformed input request: #: required key [input_type] not found');
  oneOf(body.input_type, ['search_document', 'search_query', 'classification', 'clustering'], 'input_type');
  oneOf(body.truncate, isFourth ? ['NONE', 'LEFT', 'RIGHT'] : ['NONE', 'START', 'END'], 'truncate');
  oneOf(body.output_dimension, DIMENSIONS, 'output_dimension');
  const size = asNumber(body.output_dimension) ?? (isFourth ? 1536 : 1024);
  const inputTokens = all.reduce((sum, text) => sum + countTokens(text), 0);
  const float = all.map((text) => vectorOf(text, size));
  const byType = Array.isArray(body.embedding_types);
  return counted(
    jsonReply(
      {
        id: 'embedding-1',
        embeddings: byType ? { float } : float,
        response_type: byType ? 'embeddings_by_type' : 'embeddings_floats',
        texts: all,
      },
      { model, inputTokens },
    ),
    inputTokens,
  );
}

const SIZE_OF_RERANK = 512;

function rerank(body: JsonObject, model: string): Reply {
  refuseOthers(body, ['query', 'documents', 'top_n', 'api_version', 'max_tokens_per_doc']);
  if (body.api_version !== 2)
    throw invalidConverse(
      'Malformed input request: #/api_version: 1 is not greater or equal to 2, please reformat your input and try again.',
    );
  const documents = texts(body.documents, 'documents', 1000);
  const direction = vectorOf(asText(body.query), SIZE_OF_RERANK);
  const results = documents
    .map((text, index) => ({
      index,
      relevance_score: (1 + cosine(direction, vectorOf(text, SIZE_OF_RERANK))) / 2,
    }))
    .sort((one, other) => other.relevance_score - one.relevance_score)
    .slice(0, asNumber(body.top_n) ?? documents.length);
  return jsonReply({ results }, { model, searches: Math.ceil(documents.length / 100) });
}

const MODELS = [
  [/amazon\.titan-embed-/, titan],
  [/amazon\.nova-2-multimodal-embeddings/, nova],
  [/cohere\.embed-/, cohere],
  [/cohere\.rerank-/, rerank],
] as const;

/** The model of a call, if it embeds texts or sorts documents by a body of its maker's; null: another one. */
export function invokeRetrieval(call: Call): Reply | null {
  const model = decodeURIComponent(call.params[0] ?? '');
  const answer = MODELS.find(([names]) => names.test(model))?.[1];
  if (answer === undefined) return null;
  const body = readJson(call);
  const { inputText, singleEmbeddingParams, texts: all, query } = body;
  const said = [inputText, asObject(asObject(singleEmbeddingParams).text).value, ...asList(all), query];
  call.applyDirectives(said.map(asText).join('\n'), model);
  return answer(body, model);
}
