import { checkOpenAi } from '../checks/check-openai.ts';
import { readJson } from '../checks/read-json.ts';
import type { Rules } from '../checks/rule.ts';
import { asNumber, asText, type JsonObject } from '../json-value.ts';
import { checkModelExists } from '../models/list-models.ts';
import { invalidRequest } from '../replies/provider-error.ts';
import { jsonReply } from '../replies/reply.ts';
import type { Handler } from '../requests/call.ts';
import { countTokens } from '../tokens.ts';
import { base64Of, vectorOf } from './vector-of.ts';

const RULES: Rules = {
  model: { kind: 'string', required: true, min: 1 },
  input: { kind: 'any', required: true },
  dimensions: { kind: 'integer', min: 1 },
  encoding_format: { kind: 'one-of', values: ['float', 'base64'] },
  user: { kind: 'string' },
};

const MAX_INPUTS = 2048;
const MAX_TOKENS = 8192;
/** The sizes of OpenAI's models; of all others the least. */
const DIMENSIONS: Readonly<Record<string, number>> = {
  'text-embedding-3-large': 3072,
  'text-embedding-3-small': 1536,
  'text-embedding-ada-002': 1536,
};
const OTHER_DIMENSIONS = 256;
/** These had one size only. */
const OF_ONE_SIZE = 'text-embedding-ada-002';

const isTokens = (value: unknown): value is number[] =>
  Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'number');

/** The inputs of a request, as texts or as tokens. */
function inputsOf(input: unknown): readonly (string | readonly number[])[] {
  if (typeof input === 'string') return [input];
  if (isTokens(input)) return [input];
  const all: unknown[] = Array.isArray(input) ? input : [];
  const known = all.filter((one) => typeof one === 'string' || isTokens(one));
  if (all.length === 0 || known.length < all.length || known.includes(''))
    throw invalidRequest("'$.input' is invalid. Please check the API reference.", null, 'input');
  if (all.length > MAX_INPUTS)
    throw invalidRequest(
      `Invalid 'input': array too long. Expected an array with maximum length ${MAX_INPUTS}.`,
      'array_above_max_length',
      'input',
    );
  return known;
}

const tokensOf = (input: string | readonly number[]): number =>
  typeof input === 'string' ? countTokens(input) : input.length;

/** The text that stands for an input. Tokens have no vocabulary here. */
const textOf = (input: string | readonly number[]): string =>
  typeof input === 'string' ? input : input.map((token) => `t${token}`).join(' ');

function dimensionsOf({ model, dimensions }: JsonObject): number {
  const name = asText(model);
  const full = DIMENSIONS[name] ?? OTHER_DIMENSIONS;
  const wanted = asNumber(dimensions);
  if (wanted === null) return full;
  if (name === OF_ONE_SIZE)
    throw invalidRequest('This model does not support specifying dimensions.', null, null);
  if (name in DIMENSIONS && wanted > full)
    throw invalidRequest(
      `Invalid value for 'dimensions' = ${wanted}. Must be less than or equal to ${full}.`,
      null,
      'dimensions',
    );
  return wanted;
}

/** `POST /v1/embeddings`: near vectors for texts with words in common. */
export const createEmbeddings: Handler = (call) => {
  const body = readJson(call);
  const inputs = inputsOf(body.input);
  const model = asText(body.model);
  call.applyDirectives(inputs.map(textOf).join('\n'), model);
  checkOpenAi(body, RULES, call.provider.refusesUnknown);
  checkModelExists(model);
  const size = dimensionsOf(body);
  const tokens = inputs.map(tokensOf);
  if (tokens.some((count) => count > MAX_TOKENS))
    throw invalidRequest(
      `This model's maximum context length is ${MAX_TOKENS} tokens, however you requested ${Math.max(...tokens)} tokens (${Math.max(...tokens)} in your prompt; 0 for the completion). Please reduce your prompt; or completion length.`,
      'context_length_exceeded',
      null,
    );
  const inputTokens = tokens.reduce((sum, count) => sum + count, 0);
  return jsonReply(
    {
      object: 'list',
      data: inputs.map((input, index) => {
        const vector = vectorOf(textOf(input), size);
        const embedding = body.encoding_format === 'base64' ? base64Of(vector) : vector;
        return { object: 'embedding', index, embedding };
      }),
      model,
      usage: { prompt_tokens: inputTokens, total_tokens: inputTokens },
    },
    { model, inputTokens },
  );
};
