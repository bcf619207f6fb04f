import { GatewayError } from '@gateway/contracts/gateway-error';
import type { EmbeddingsRequest } from '@gateway/contracts/openai/embeddings';

/** Texts, or what they are as tokens of OpenAI's vocabulary. */
export type Inputs =
  | { readonly kind: 'texts'; readonly texts: readonly string[] }
  | { readonly kind: 'tokens'; readonly tokens: readonly (readonly number[])[] };

const isText = (value: unknown): value is string => typeof value === 'string';
const isToken = (value: unknown): value is number => typeof value === 'number';
const isTokens = (value: unknown): value is readonly number[] => Array.isArray(value);

/** The inputs of a request as a list, also where it has only one. */
export function inputsOf({ input }: Pick<EmbeddingsRequest, 'input'>): Inputs {
  if (isText(input)) return { kind: 'texts', texts: [input] };
  const entries: readonly unknown[] = input;
  if (entries.every(isText)) return { kind: 'texts', texts: entries };
  if (entries.every(isToken)) return { kind: 'tokens', tokens: [entries] };
  return { kind: 'tokens', tokens: entries.filter(isTokens) };
}

export const countOf = (inputs: Inputs): number => membersOf(inputs).length;

export const membersOf = (inputs: Inputs): readonly (string | readonly number[])[] =>
  inputs.kind === 'texts' ? inputs.texts : inputs.tokens;

/** Cuts them into parts of at most so many. */
export function cutInputs(inputs: Inputs, most: number): readonly Inputs[] {
  const parts: Inputs[] = [];
  for (let at = 0; at < countOf(inputs); at += most)
    parts.push(
      inputs.kind === 'texts'
        ? { kind: 'texts', texts: inputs.texts.slice(at, at + most) }
        : { kind: 'tokens', tokens: inputs.tokens.slice(at, at + most) },
    );
  return parts;
}

/** The tokens of texts that have so many bytes for each. Tokens are counted. */
export function tokensOf(inputs: Inputs, bytesPerToken: number): number {
  let sum = 0;
  if (inputs.kind === 'tokens') for (const tokens of inputs.tokens) sum += tokens.length;
  else for (const text of inputs.texts) sum += Math.ceil(Buffer.byteLength(text) / bytesPerToken);
  return sum;
}

/** What tokens say as texts. @throws {GatewayError} `invalid_value` for what is no token */
export async function textsOf(inputs: Inputs): Promise<readonly string[]> {
  if (inputs.kind === 'texts') return inputs.texts;
  // The vocabulary of OpenAI's embedding models: some megabytes, loaded when first needed.
  const { decode, vocabularySize } = await import('gpt-tokenizer/encoding/cl100k_base');
  return inputs.tokens.map((tokens) => {
    const unknown = tokens.find((token) => token >= vocabularySize);
    if (unknown !== undefined)
      throw new GatewayError('invalid_value', {
        path: ['input'],
        message: `Invalid 'input': ${unknown} is not a token of the vocabulary cl100k_base. Send texts.`,
      });
    return decode(tokens);
  });
}
