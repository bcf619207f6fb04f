import { asList, asNumber, asObject, asText, isObject, type JsonObject } from '../json-value.ts';
import { ProviderError } from '../replies/provider-error.ts';
import { jsonReply, type Reply } from '../replies/reply.ts';
import { vectorOf } from '../retrieval/vector-of.ts';
import { contentText, countTokens } from '../tokens.ts';

const MAX_INSTANCES = 250;
const SIZE = 768;
const TASKS: readonly unknown[] = [
  'RETRIEVAL_QUERY',
  'RETRIEVAL_DOCUMENT',
  'SEMANTIC_SIMILARITY',
  'CLASSIFICATION',
  'CLUSTERING',
  undefined,
];

const invalid = (message: string): ProviderError => new ProviderError({ status: 400, message });

function refuseOthers(members: JsonObject, known: readonly string[]): void {
  const unknown = Object.keys(members).find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw invalid(`Invalid JSON payload received. Unknown name "${unknown}": Cannot find field.`);
}

/** Vertex AI's models of embeddings that `predict` serves. */
export const isPredictedEmbedding = (model: string): boolean =>
  /^(?:text-embedding-|text-multilingual-embedding-|gemini-embedding-001$)/.test(model);

/** The texts that a request for embeddings has. */
export const textsToEmbed = ({ instances, content }: JsonObject): string =>
  [
    ...asList(instances).map((one) => asText(asObject(one).content)),
    contentText(asObject(content).parts),
  ].join('\n');

/** `:predict` of embeddings on Vertex AI. Gemini's take one text in a call. */
export function predictEmbeddings(model: string, body: JsonObject): Reply {
  refuseOthers(body, ['instances', 'parameters']);
  const instances = asList(body.instances).map(asObject);
  const parameters = asObject(body.parameters);
  const most = model.startsWith('gemini-') ? 1 : MAX_INSTANCES;
  if (instances.length === 0 || instances.length > most)
    throw invalid(`${instances.length} instance(s) is not allowed. Max allowed: ${most}.`);
  refuseOthers(parameters, ['outputDimensionality', 'autoTruncate']);
  const predictions = instances.map((instance) => {
    refuseOthers(instance, ['content', 'task_type', 'title']);
    const text = asText(instance.content);
    if (text === '') throw invalid('The text content is empty.');
    if (!TASKS.includes(instance.task_type)) throw invalid(`Unsupported task type ${instance.task_type}.`);
    return {
      embeddings: {
        values: vectorOf(text, asNumber(parameters.outputDimensionality) ?? SIZE),
        statistics: { truncated: false, token_count: countTokens(text) },
      },
    };
  });
  const inputTokens = predictions.reduce((sum, one) => sum + one.embeddings.statistics.token_count, 0);
  return jsonReply({ predictions }, { model, inputTokens });
}

/** `:embedContent` on Vertex AI, of Gemini's later models. */
export function embedContent(model: string, body: JsonObject): Reply {
  if (isPredictedEmbedding(model) || !model.startsWith('gemini-embedding-'))
    throw new ProviderError({ status: 400, message: `Model ${model} is not supported for embedContent.` });
  refuseOthers(body, ['content', 'embedContentConfig', 'model']);
  const config = asObject(body.embedContentConfig);
  refuseOthers(config, ['taskType', 'title', 'outputDimensionality', 'autoTruncate']);
  if (!isObject(body.content)) throw invalid('content is required.');
  if (!TASKS.includes(config.taskType)) throw invalid(`Unsupported task type ${config.taskType}.`);
  const text = contentText(body.content.parts);
  if (text === '') throw invalid('The text content is empty.');
  const inputTokens = countTokens(text);
  return jsonReply(
    {
      embedding: { values: vectorOf(text, asNumber(config.outputDimensionality) ?? SIZE) },
      usageMetadata: { promptTokenCount: inputTokens, totalTokenCount: inputTokens },
      truncated: false,
    },
    { model, inputTokens },
  );
}
