import { checkOpenAi } from '../checks/check-openai.ts';
import { readJson } from '../checks/read-json.ts';
import type { Rules } from '../checks/rule.ts';
import { asList, asNumber, asObject, asText, type JsonObject } from '../json-value.ts';
import { checkModelExists } from '../models/list-models.ts';
import { jsonReply } from '../replies/reply.ts';
import type { Call, Handler } from '../requests/call.ts';
import { countTokens } from '../tokens.ts';
import { cosine, vectorOf } from './vector-of.ts';

const RULES: Rules = {
  model: { kind: 'string', required: true, min: 1 },
  query: { kind: 'string', required: true, min: 1 },
  documents: { kind: 'array', required: true, min: 1, max: 10_000 },
  top_n: { kind: 'integer', min: 1 },
  return_documents: { kind: 'boolean' },
};

const DIMENSIONS = 512;
/** Documents of one search at Cohere. */
const DOCUMENTS_PER_SEARCH = 100;

interface Ranked {
  readonly body: JsonObject;
  readonly model: string;
  /** The best first. */
  readonly results: readonly { readonly index: number; readonly score: number; readonly text: string }[];
  readonly inputTokens: number;
  readonly searches: number;
}

const textOf = (document: unknown): string =>
  typeof document === 'string' ? document : asText(asObject(document).text);

/** Sorts documents by the words that they share with the query. */
function rank(call: Call): Ranked {
  const body = readJson(call);
  const model = asText(body.model);
  const query = asText(body.query);
  const documents = asList(body.documents).map(textOf);
  call.applyDirectives([query, ...documents].join('\n'), model);
  checkOpenAi(body, RULES);
  checkModelExists(model);
  const direction = vectorOf(query, DIMENSIONS);
  const scored = documents.map((text, index) => {
    const score = (1 + cosine(direction, vectorOf(text, DIMENSIONS))) / 2;
    return { index, score: Number(score.toFixed(6)), text };
  });
  const results = scored.sort((one, other) => other.score - one.score);
  const ofQuery = countTokens(query);
  return {
    body,
    model,
    results: results.slice(0, asNumber(body.top_n) ?? results.length),
    inputTokens: documents.reduce((sum, text) => sum + ofQuery + countTokens(text), 0),
    searches: Math.ceil(documents.length / DOCUMENTS_PER_SEARCH),
  };
}

/** `POST /v1/rerank` in the form of Jina, vLLM and others. Documents come back unless the request says otherwise, as at Jina. */
export const createRerank: Handler = (call) => {
  const { body, model, results, inputTokens } = rank(call);
  return jsonReply(
    {
      id: call.provider.ids.next('rerank-'),
      model,
      usage: { prompt_tokens: inputTokens, total_tokens: inputTokens },
      results: results.map(({ index, score, text }) => ({
        index,
        relevance_score: score,
        ...(body.return_documents !== false && { document: { text } }),
      })),
    },
    { model, inputTokens },
  );
};

/** `POST /v2/rerank` in Cohere's form, which counts searches. */
export const createCohereRerank: Handler = (call) => {
  const { model, results, searches } = rank(call);
  return jsonReply(
    {
      id: call.provider.ids.next(''),
      results: results.map(({ index, score }) => ({ index, relevance_score: score })),
      meta: { api_version: { version: '2' }, billed_units: { search_units: searches } },
    },
    { model, searches },
  );
};
